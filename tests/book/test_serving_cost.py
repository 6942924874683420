"""Costs of tokens against the published figures of the page."""
from book.components.measured import compare
from gpucalc import serving_cost as sc
from tests.close import close


def test_deepseeks_day():
    # 226.75 nodes of 8 H800 for 24 hours at 2 USD, over 168 billion tokens out.
    assert sc.usd_per_million_tokens(2, 1814, 168e9 / 86400) * 168e3 == close(87_072)
    found = compare("serving_cost")
    found = found[found.family != "power while serving"]
    assert (found.error.abs() < 0.004).all() and len(found) == 5
