"""Pages that report on a finished run."""
