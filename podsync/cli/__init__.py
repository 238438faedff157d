"""The command line: parse, call, print. Nothing heavy is imported before it is used."""

from podsync.cli.main import cli, main

__all__ = ["cli", "main"]
