"""``python -m ssiode`` is the command ``ssiode``."""

from ssiode.cli import main

if __name__ == "__main__":
    main()
