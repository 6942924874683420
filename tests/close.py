"""Equal but for the rounding of a computer."""
import pytest


def close(value, rel=1e-12):
    return pytest.approx(value, rel=rel)
