"""Run the command line as ``python -m likewise``."""

from likewise.cli import main

if __name__ == "__main__":
    main()
