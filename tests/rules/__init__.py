"""Tests of the alert and recording rules, their runbooks, and the configuration that carries them."""
