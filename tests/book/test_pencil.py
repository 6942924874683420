"""What a reader gets with a pencil from the printed formula and the printed inputs is what the page prints."""
import re

import pytest

from book.build.inputs import ROOT
from tests.pencil import checked, LESSONS, ROWS, SAID, sentences, tables, worked


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_pencil_gives_what_the_page_prints(lesson):
    found = checked(ROOT / f"notebooks/{lesson}.ipynb")
    assert [(said, result, right) for said, result, right in found if not right] == []
    assert len(found) >= 5


def test_each_relation_between_figures_is_of_a_page():
    """A picture or a table whose words have changed is still compared."""
    paths = [ROOT / f"notebooks/{lesson}.ipynb" for lesson in LESSONS]
    texts, heads = [text for path in paths for text in sentences(path)], [set(rows[0]) for path in paths for rows in tables(path) if rows]
    assert [pattern for pattern, *_ in SAID if not any(re.search(pattern, text) for text in texts)] == []
    needed = {said: set(re.findall(r"{(.*?)}", said + result)) for said, result in ROWS}
    assert [said for said, names in needed.items() if not any(names <= held for held in heads)] == []


@pytest.mark.parametrize("said, result, right", [
    ("2 (key and value) × layers (80) × bytes per value (2 B)", "320 B", True), ("2 × layers (80) × bytes (2 B)", "321 B", False),
    ("2 × 80 × 8 × 128 × 2 B", "328 kB", True), ("2 × 80 × 8 × 128 × 2 B", "329 kB", False),
    ("room for the cache (167 GB) / KV bytes per sequence (2.68 GB), rounded down", "62", True),
    ("room (167 GB) / one (2.68 GB)", "57.8", False), ("memory (85.5 GB) × (1 − headroom (10 %))", "76.9 GB", True),
    ("a (3.87 USD/h) × a (1.19)", "4.60 USD/h", True), ("a (3.87 USD/h) × a (1.19)", "4.70 USD/h", False),
    ("weights (141 GB) / bandwidth (2.04 TB/s)", "69.1 ms", True), ("the larger of (2) and something", "2", None),
    ("the larger of 755 MB and 854 MB", "854 MB", True), ("the larger of 755 MB and 854 MB", "755 MB", False),
    ("(80 / 80, rounded up) × (8,192 / 16, rounded up)", "512", True), ("28,672, 0 if less", "28,672", True),
    ("32 × (2,048² − 0²) / 2", "67.1 million", True), ("436,000 USD × 0.168 / (1 + 0.100) ^ (5 years + 3 months / 12)", "44,400 USD", True),
    ("21.9 GB + 4.30 GB + 14.8 GB", "38.9 GB", False), ("21.9 GB + 2.15 GB + 14.8 GB", "38.9 GB", True),
    ("the smaller of 50 / (1 − exp(−50 / 500)) and 8,192", "525", True), ("bytes (10 TB) × price (0.09 USD/GB)", "900 USD", True),
    ("41.3 % + 58.5 %", "100.0 %", False), ("59 between 58 and 60", "59", True), ("62 between 58 and 60", "62", False)])
def test_the_pencil_itself(said, result, right):
    assert worked(said, result) is right
