"""The command line; one file a command. Heavy imports are made inside the commands."""

from labelgrove.cli.app import main

__all__ = ["main"]
