"""`sandbox`: the local platform alone."""
