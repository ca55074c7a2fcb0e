"""Workers that share each batch."""
