"""What `import seqloom` offers: train, load, evaluate, check, describe, compare, sweep, export."""
