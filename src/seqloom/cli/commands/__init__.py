"""Commands of more than a few lines, one file each."""
