"""The headings under which help groups the options of a command."""

__all__ = ["DATA", "MACHINE", "MODEL", "OUTPUT", "SEARCH", "TOLD", "VIEW"]

DATA = "Data"
MODEL = "Model"
MACHINE = "Machine"
SEARCH = "Search"
OUTPUT = "Outputs wanted"
TOLD = "Output format"
VIEW = "View"
