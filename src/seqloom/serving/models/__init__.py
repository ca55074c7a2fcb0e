"""The models of a server: loading, replacement and eviction."""
