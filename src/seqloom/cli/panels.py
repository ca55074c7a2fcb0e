"""Headings that group options in the help of a command."""

__all__ = ["DATA", "DOCUMENT", "MACHINE", "MODEL", "OUTPUT", "SEARCH", "TOLD", "VIEW"]

DATA = "Data"
DOCUMENT = "Documents"
MODEL = "Model"
MACHINE = "Machine"
SEARCH = "Search"
OUTPUT = "Outputs wanted"
TOLD = "Output format"
VIEW = "View"
