"""One test of many like things."""
import inspect
from collections.abc import Mapping


def of_each(held):
    """A test that takes each of what is held in turn and names all that fail, and why: a test for each of them takes longer to
    begin than to run.

    held: a mapping of names to what the test takes first, or a list of names.
    """
    given = held if isinstance(held, Mapping) else {name: name for name in held}

    def of_all(check):
        def test(**fixtures):
            failed = {}
            for name, one in given.items():
                try:
                    check(one, **fixtures)
                except Exception as error:
                    failed[name] = f"{type(error).__name__}: {error}"
            # pytest writes out what fails in test files alone.
            assert not failed, "\n".join(f"{name}: {why}" for name, why in failed.items())
        test.__doc__ = check.__doc__
        test.__signature__ = inspect.Signature([*inspect.signature(check).parameters.values()][1:])
        return test
    return of_all
