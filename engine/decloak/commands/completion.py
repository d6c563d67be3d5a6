"""`completion`: the script that lets a shell complete commands, options and files."""

import click
from click.shell_completion import get_completion_class

from decloak.report.terminal import say_data

__all__ = ["completion_command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash  decloak completion bash > ~/.local/share/bash-completion/completions/decloak
    zsh   decloak completion zsh > "${fpath[1]}/_decloak"
    fish  decloak completion fish > ~/.config/fish/completions/decloak.fish
    """
    script = get_completion_class(shell)
    assert script is not None
    say_data(script(context.find_root().command, {}, "decloak", "_DECLOAK_COMPLETE").source())
