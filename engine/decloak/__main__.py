"""`python -m decloak` is the command line."""

from decloak.cli import main

main()
