"""`python -m gpucalc` is the command `gpucalc`."""
import sys

from .page.command import main

if __name__ == "__main__":
    sys.exit(main())
