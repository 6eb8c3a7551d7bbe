"""Handles input that is not trusted: regular expressions of users, text for a terminal, and files."""
