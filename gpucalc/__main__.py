"""`python -m gpucalc` is the command `gpucalc`."""
import sys


def main() -> int:
    """Run the command with the words of the command line; returns its exit status."""
    if sys.argv[1:2] == ["decide"]:
        from .page.decide_command import main as decide
        return decide(sys.argv[2:])
    from .page.command import main as command
    return command()


if __name__ == "__main__":
    sys.exit(main())
