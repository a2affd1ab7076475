"""The commands of `python -m minigrad`."""
