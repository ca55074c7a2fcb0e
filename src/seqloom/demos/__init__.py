"""Built-in demonstrations: real data, a trained model, results, and what to type next."""

from seqloom.demos.demo import run_demo

__all__ = ["run_demo"]
