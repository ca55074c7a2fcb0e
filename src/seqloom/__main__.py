"""`python -m seqloom` is the `seqloom` command."""

from seqloom.cli.app import main

__all__: list[str] = []

main()
