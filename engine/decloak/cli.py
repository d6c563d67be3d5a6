"""The command line: parse, call, print. Every error a user can mend ends here as one line on stderr.

Commands live in `decloak.commands` and are imported when they are called, so that `decloak --help` stays fast.
"""

import errno
import gc
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from decloak import ending
from decloak.ending import EXIT_INTERRUPTED
from decloak.errors import DecloakError, nearest, shown
from decloak.report.terminal import say
from decloak.version import __version__

__all__ = ["EXIT_INPUT", "EXIT_INTERNAL", "cli", "main", "settle"]

EXIT_INTERNAL = 1
EXIT_INPUT = 2

COMMANDS = {
    "look": ("looking", "See what a file seems to be."),
    "run": ("running", "Run a scenario and print what its attacks won back."),
    "validate": ("running", "Check a scenario without running it."),
    "init": ("starting", "Write a scenario to begin with."),
    "import": ("starting", "Read a data file into the store."),
    "runs": ("results", "List the runs of a store."),
    "show": ("showing", "Print the measures of runs."),
    "compare": ("comparing", "Compare runs: whom they tell of, and what differs."),
    "explain": ("results", "Say why an item was struck from a transaction."),
    "report": ("reporting", "Write a page about runs."),
    "plot": ("plotting", "Draw how a figure changes with what varies."),
    "gallery": ("gallery", "List the figures of the papers, and whether we see the same."),
    "hierarchy": ("hierarchy", "Compare what a data set would lose in one hierarchy or another."),
    "publish": ("publishing", "Write the release of a run to a file."),
    "check": ("checking", "Check the guarantee of a release, or of a data file."),
    "corpus": ("corpus", "Build an index of documents, and count terms in it."),
    "relate": ("relate", "See which measure of relatedness agrees with people."),
    "rules": ("rulebook", "List, show and test attack rules."),
    "schema": ("inspecting", "Describe the tables of the store, or the scenario language."),
    "sql": ("inspecting", "Query the store with SQL, read-only."),
    "rows": ("inspecting", "Show a run as rows where the store keeps arrays alone."),
    "graph": ("inspecting", "Export the store, or a part of it, as a graph."),
}
"""Command → module of decloak.commands, and its line in `decloak --help`."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"decloak.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            raise DecloakError(f"no command {shown(name)}", hint=nearest(name, COMMANDS) or "see `decloak --help`")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="decloak")
def cli() -> None:
    """How much of what an anonymisation hides can an attacker win back?

    Start with `decloak init demo.yaml` and `decloak run demo.yaml`.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name the terminal's encoding has not got
    with ending.listening():
        settle()
        code = _code(arguments)
    sys.exit(code)


def settle() -> None:
    """Settle what is of the whole process, before anything heavy is imported: a library leaves that to its user."""
    # Data are millions of tuples and texts without a cycle: going through them as often as usual took a fifth of a run.
    gc.set_threshold(200_000, 20, 100)
    # Threads of linear algebra wait for work by spinning, and there is little: processes share out what takes long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Pydantic would look through all that is installed for plugins, which have no business in what is checked here.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def _code(arguments: list[str] | None) -> int:
    """Run a command, and print what went wrong: the exit code, 130 whenever the end was requested."""
    try:
        code = _answered(arguments)
        ending.check()
        return code
    except (KeyboardInterrupt, click.Abort):
        exec("")  # forgets a Ctrl-C inside another exec (a dataclass in the making): Python would end by the signal
        ending.ignore()
        _say("interrupted; what was finished is kept, run it again to go on")
        return EXIT_INTERRUPTED


def _ran(arguments: list[str] | None, used: dict[str, Path]) -> int:
    """Run a command; whatever it ends in gives way to a request to end."""
    try:
        code: Any = cli.main(arguments, prog_name="decloak", standalone_mode=False, obj=used)
        sys.stdout.flush()
    except BaseException:
        ending.check()  # the exception may stand for the one that the request raised
        raise
    return code if isinstance(code, int) else 0


def _answered(arguments: list[str] | None) -> int:
    used: dict[str, Path] = {}
    try:
        return _ran(arguments, used)
    except DecloakError as error:
        _say(str(error))
        return EXIT_INPUT
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # of click 8.2; before that the help went to stdout
            with suppress(OSError):
                say(error.format_message(), err=True)
        else:
            _say(_plain(error))
        return EXIT_INPUT
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        raise
    except SystemExit:  # click's answer to a closed pipe
        return 0
    except UnicodeEncodeError as error:
        _say(f"not UTF-8 text: {shown(error.object)}; write it in UTF-8")
        return EXIT_INPUT
    except BrokenPipeError:
        _forget_output()
        return 0
    except Exception as error:
        if os.environ.get("DECLOAK_DEBUG"):
            raise
        return _unforeseen(error, used.get("store"))


def _unforeseen(error: Exception, store: Path | None) -> int:
    mendable = _mendable(error, store)
    if mendable is not None:
        _say(str(mendable))
        return EXIT_INPUT
    _say(f"a fault inside decloak: {type(error).__name__}: {shown(error, 200)}; "
         "set DECLOAK_DEBUG=1 to see where, and report it")  # fmt: skip
    return EXIT_INTERNAL


def _forget_output() -> None:
    """Let what is still to be printed go nowhere, as there is nobody or no room to take it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def _mendable(error: Exception, store: Path | None) -> DecloakError | None:
    """What nobody foresaw, as what a user can mend: a full disk, too little memory, a damaged store; else None."""
    if isinstance(error, MemoryError):
        return DecloakError("there is not enough memory", hint="give it more, or work on less")
    if isinstance(error, OSError):
        _forget_output()
        where = None if error.filename is None else shown(error.filename, 300)[1:-1]
        full = "make room" if error.errno in _FULL else "see that it can be used"
        return DecloakError(f"cannot read or write: {error.strerror or error}", where, f"{full}, then run it again")
    if store is not None and store.is_file():
        from decloak.store.damage import damage_of

        if (damaged := damage_of(store, error)) is not None:
            return damaged
    if type(error).__module__ == "sqlite3":  # not imported for this alone: `--help` needs none of it
        from decloak.store.opening import unusable

        trouble = unusable(error, store)
        return trouble if trouble.hint else None  # without a remedy it is ours
    return None


def _plain(error: click.ClickException) -> str:
    """Click's own complaints in our form: what is wrong; the remedy."""
    context = getattr(error, "ctx", None)
    message = error.format_message().rstrip(".")
    return f"{message}; see `{context.command_path} --help`" if context else message


def _say(message: str) -> None:
    with suppress(OSError):  # whoever listens may have no room left either
        for line in message.splitlines():
            say(f"decloak: {line}", err=True)


if __name__ == "__main__":
    main()
