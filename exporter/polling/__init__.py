"""polling."""
