"""The command line: `decloak`, and `python -m decloak`."""

import gc
import sys

from decloak.ending import EXIT_INTERRUPTED, ignore, listen


def main() -> None:
    """Install the signal handlers before anything heavy is imported, then run the command line."""
    try:
        listen()
        gc.set_threshold(100_000)  # imports make objects that stay: looking through them takes a tenth of a start
        from decloak.cli import main as run

        run()
    except KeyboardInterrupt:  # before there is a command line that could report it, or after
        sys.exit(EXIT_INTERRUPTED)
    finally:
        ignore()
        # At its end Python would look through all objects, which took a third of a run with nothing to do. But DuckDB
        # lists those of its objects that are still there.
        if "duckdb" not in sys.modules:
            gc.freeze()


if __name__ == "__main__":
    main()
