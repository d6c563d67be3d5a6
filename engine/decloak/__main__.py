"""`python -m decloak` is the command line."""

import sys

try:
    from decloak.cli import main
except KeyboardInterrupt:  # before there is anything that could tell of it
    sys.exit(130)

main()
