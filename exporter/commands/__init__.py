"""What each command does; `exporter.cli` says how it is called."""
