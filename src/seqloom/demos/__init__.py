"""Built-in demonstrations: real data, a trained model, results, and next commands."""

from seqloom.demos.demo import run_demo

__all__ = ["run_demo"]
