"""`python -m loadstone.cli`."""

from loadstone.cli import main

main()
