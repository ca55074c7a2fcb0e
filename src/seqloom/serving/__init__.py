"""Serve a trained model over HTTP: the API, its limits, the playground, and a client.

Only the client is imported from here; the rest needs the extra `serve` and is imported from its
modules by the command.
"""

from seqloom.serving.client import Client

__all__ = ["Client"]
