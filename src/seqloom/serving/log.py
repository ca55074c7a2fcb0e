"""The server's log: one JSON object on a line of standard error; never any text of a request."""

import json
import sys
import time
from typing import Any

__all__ = ["log"]


def log(event: str, **facts: Any) -> None:
    """Write a line, with the time."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    print(json.dumps({"time": f"{stamp}Z", "event": event, **facts}), file=sys.stderr, flush=True)
