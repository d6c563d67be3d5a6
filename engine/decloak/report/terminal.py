"""The one way to a terminal: all text goes through `escape_control`, so that no name, path or answer can steer it."""

import sys

import click

from decloak.errors import escape_control


def say(text: str, *, err: bool = False) -> None:
    """Print lines for people; `err` is for talk, which goes to standard error."""
    click.echo(escape_control(text, keep="\n"), err=err)


def say_data(text: str) -> None:
    """Print JSON or XML without changes; their writers have escaped control characters."""
    sys.stdout.write(text + "\n")
