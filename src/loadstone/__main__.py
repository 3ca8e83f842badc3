"""Makes `python -m loadstone` the command `loadstone`."""

from loadstone.cli import main

main()
