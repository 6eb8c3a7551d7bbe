"""`sandbox`: serves the local platform alone."""
