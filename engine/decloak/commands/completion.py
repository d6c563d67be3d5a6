"""`completion`: the script that lets a shell complete commands, options and files."""

import click
from click.shell_completion import get_completion_class

from decloak.report.terminal import say_data


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash  mkdir -p ~/.local/share/bash-completion/completions
          decloak completion bash > ~/.local/share/bash-completion/completions/decloak
    zsh   mkdir -p ~/.zfunc
          decloak completion zsh > ~/.zfunc/_decloak
          and the line fpath+=~/.zfunc before compinit in ~/.zshrc
    fish  mkdir -p ~/.config/fish/completions
          decloak completion fish > ~/.config/fish/completions/decloak.fish
    """
    script = get_completion_class(shell)
    assert script is not None
    say_data(script(context.find_root().command, {}, "decloak", "_DECLOAK_COMPLETE").source())
