"""The daemon: builds and connects all parts, and starts, reloads and stops them."""
