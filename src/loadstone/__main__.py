"""`python -m loadstone` is the command `loadstone`."""

from loadstone.cli import main

main()
