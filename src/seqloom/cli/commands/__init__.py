"""The commands that are more than a few lines, a file each."""
