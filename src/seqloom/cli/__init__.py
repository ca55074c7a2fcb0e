"""The `seqloom` command."""
