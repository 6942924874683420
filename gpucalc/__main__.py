"""`python -m gpucalc` is the command `gpucalc`."""
import sys


def main() -> int:
    """Run the command with the words of the command line; returns its exit status."""
    if sys.argv[1:2] in (["decide"], ["ask"]):
        from .cli_decide import main as decide
        return decide(sys.argv[2:], sys.argv[1] == "ask")
    if sys.argv[1:] == ["mcp"]:
        from .cli_mcp import main as serve
        return serve()
    from .cli import main as command
    return command()


if __name__ == "__main__":
    sys.exit(main())
