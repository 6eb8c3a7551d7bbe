"""Handles text and files from elsewhere: patterns of users, text for a terminal, and files of any kind."""
