"""One module for each kind of target: how it is prepared, validated, measured and shown."""
