"""exposition."""
