"""Configuration files as data whose every fault is named by its path and line; imports nothing of ours."""
