"""`demo`: runs a sandbox and the daemon on it, with nothing to configure."""
