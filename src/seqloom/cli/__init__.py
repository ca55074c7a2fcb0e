"""The `seqloom` command."""

from seqloom.cli.app import app, main

__all__ = ["app", "main"]
