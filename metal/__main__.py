"""`python -m metal`."""

from metal.cli import main

main()
