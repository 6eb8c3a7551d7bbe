"""The status page: its words, figures, parts and assets."""
