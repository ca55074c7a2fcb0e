"""Pictures and videos as arrays of pixels."""
