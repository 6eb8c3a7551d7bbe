"""A local platform that speaks the whole interface, so that everything runs without an account."""
