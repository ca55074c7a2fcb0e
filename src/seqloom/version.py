"""The release, for pages and reports; in a module of its own, which anything may import."""

__all__ = ["__version__"]

__version__ = "0.1.0"
