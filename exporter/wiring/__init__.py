"""Builds objects from the settings: what is polled, the clients of accounts, and the storage of the state."""
