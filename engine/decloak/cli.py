"""The command line: parse arguments, call a command, print its result or a one-line error.

A command of `decloak.commands` is imported when it is called, so `decloak --help` stays fast.
"""

import errno
import gc
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click

from decloak import ending
from decloak.ending import EXIT_INTERRUPTED
from decloak.errors import DecloakError, quote, suggest
from decloak.report.terminal import say
from decloak.version import __version__

__all__ = ["EXIT_INPUT", "EXIT_INTERNAL", "cli", "configure_process", "main"]

EXIT_INTERNAL = 1
EXIT_INPUT = 2

GROUPS = {
    "Prepare": {
        "look": "Show how decloak reads a data file.",
        "init": "Create a scenario, from an example or from your file.",
        "validate": "Check a scenario without running it.",
        "import": "Read a data file into the store.",
        "hierarchy": "Compare generalisation hierarchies for a data file.",
        "corpus": "Build a text index and count terms in it.",
        "relate": "Compare relatedness measures with human judgement.",
    },
    "Run": {
        "advise": "Try ways to publish a data set, and compare them with criteria.",
        "run": "Run a scenario: anonymise, attack, measure.",
        "check": "Check the guarantee of a release or data file.",
        "publish": "Write a release to a file that you can share.",
    },
    "Inspect": {
        "runs": "List the runs of a store.",
        "show": "Show all figures of a run.",
        "compare": "Compare the figures of two or more runs.",
        "explain": "Explain why an attack eliminated an item.",
        "report": "Write an HTML report.",
        "plot": "Plot a figure against a parameter.",
        "gallery": "Reproduce the figures of the papers.",
    },
    "Advanced": {
        "rules": "List, show and test attack rules.",
        "schema": "Describe the tables of the store or the scenario keys.",
        "sql": "Query the store with SQL (read-only).",
        "serve": "Show the store in a browser.",
        "graph": "Export a release and its findings as a graph.",
        "plugins": "List the installed plugins.",
        "compile": "Compile the loops for large data, once after an installation.",
        "completion": "Print the completion script of a shell.",
    },
}
"""The commands of `decloak --help` in groups. Each command has a module in `decloak.commands`."""
COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}
# Python reserves the name of this command.
_MODULES = {"import": "import_"}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"decloak.commands.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            raise DecloakError(f"no command {quote(name)}", hint=suggest(name, COMMANDS) or "see `decloak --help`")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("\nCommands:\n")
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in commands.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="decloak")
def cli() -> None:
    """Attack an anonymised release of transaction data, and report how many people it still exposes.

    Start:  decloak init demo.yaml && decloak run demo.yaml
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name the terminal's encoding has not got
    with ending.listening():
        configure_process()
        code = _code(arguments)
    sys.exit(code)


def configure_process() -> None:
    """Configure the process before anything heavy is imported. A library must leave that to its user."""
    # Data are millions of tuples and texts without a cycle: going through them as often as usual took a fifth of a run.
    gc.set_threshold(200_000, 20, 100)
    # Threads of linear algebra wait for work by spinning, and there is little: processes share out what takes long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Pydantic would look through all that is installed for plugins, which have no business in what is checked here.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def _code(arguments: list[str] | None) -> int:
    """Run a command, print its error, and return the exit code: 130 if the end was requested."""
    try:
        code = _answered(arguments)
        ending.check()
        return code
    except (KeyboardInterrupt, click.Abort):
        ending.ignore()
        _print_error("interrupted; finished stages are kept, run it again to continue")
        return EXIT_INTERRUPTED


def _ran(arguments: list[str] | None, used: dict[str, Path]) -> int:
    """Run a command. A request to end has priority over its result."""
    try:
        # Standalone, click would print errors in its own form, and exit.
        code: object = cli.main(arguments, prog_name="decloak", standalone_mode=False, obj=used)
        # A full disk shows here at the latest, where its error has a message.
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
        _print_error(str(error))
        return EXIT_INPUT
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # of click 8.2; before that the help went to stdout
            with suppress(OSError):
                say(error.format_message(), err=True)
        else:
            _print_error(_plain(error))
        return EXIT_INPUT
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        raise
    except SystemExit:  # click's answer to a closed pipe
        return 0
    except UnicodeEncodeError as error:
        _print_error(f"not text in UTF-8: {quote(error.object)}; write it in UTF-8")
        return EXIT_INPUT
    except BrokenPipeError:
        # Otherwise Python would report the closed pipe again at its end.
        _forget_output()
        return 0
    except Exception as error:
        if os.environ.get("DECLOAK_DEBUG"):
            raise
        return _unforeseen(error, used.get("store"))


def _unforeseen(error: Exception, store: Path | None) -> int:
    mendable = _mendable(error, store)
    if mendable is not None:
        _print_error(str(mendable))
        return EXIT_INPUT
    from decloak.plugins import plugin_at_fault

    plugin = plugin_at_fault(error)
    where = f"the plugin {plugin.package} {plugin.version}" if plugin else "decloak"
    _print_error(f"a fault inside {where}: {type(error).__name__}: {quote(error, 200)}; "
         "set DECLOAK_DEBUG=1 to see where, and report it")  # fmt: skip
    return EXIT_INTERNAL


def _forget_output() -> None:
    """Discard all further output, because the reader is gone or the disk is full."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def _mendable(error: Exception, store: Path | None) -> DecloakError | None:
    """Return an unexpected error as one with a remedy: a full disk, too little memory, a damaged store; else None."""
    if isinstance(error, MemoryError):
        return DecloakError("there is not enough memory", hint="give it more, or work on less")
    if isinstance(error, OSError):
        _forget_output()
        where = None if error.filename is None else quote(error.filename, 300)[1:-1]
        full = "make room" if error.errno in _FULL else "see that it can be used"
        return DecloakError(f"cannot read or write: {error.strerror or error}", where, f"{full}, then run it again")
    if store is not None and store.is_file():
        from decloak.store.opening import damage_of

        if (damaged := damage_of(store)) is not None:
            return damaged
    if type(error).__module__ == "sqlite3":  # not imported for this alone: `--help` needs none of it
        from decloak.store.opening import unusable

        trouble = unusable(error, store)
        return trouble if trouble.hint else None  # without a remedy it is ours
    return None


def _plain(error: click.ClickException) -> str:
    """Return an error of click in our form: problem; remedy."""
    context = getattr(error, "ctx", None)
    message = error.format_message().rstrip(".")
    return f"{message}; see `{context.command_path} --help`" if context else message


def _print_error(message: str) -> None:
    with suppress(OSError):  # the reader of the pipe may have no room left either
        for line in message.splitlines():
            say(f"decloak: {line}", err=True)


if __name__ == "__main__":
    main()
