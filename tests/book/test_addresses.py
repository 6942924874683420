"""Every address that the site ever had answers: with its page, or with one that leads to where the content went."""
import csv
import re

import pytest

from book.build.finish import MOVED, redirect
from book.build.inputs import ROOT
from tests.contents import PAGES

ADDRESSES = (ROOT / "tests/book/addresses.txt").read_text(encoding="utf-8").split()
with open(MOVED, encoding="utf-8", newline="") as table:
    NEW = {row["old"]: row["new"] for row in csv.DictReader(table)}


def test_every_address_of_before_is_a_page_or_moved_once():
    there = {f"{name}.html" for name in PAGES}
    assert len(ADDRESSES) == 81 and {*ADDRESSES} <= there | {*NEW} and not there & {*NEW}
    assert {to.partition("#")[0] for to in NEW.values()} <= there


@pytest.mark.parametrize("old", [each for each in ADDRESSES if each in NEW])
def test_an_old_address_leads_to_a_section_that_exists(site, old):
    name, _, section = NEW[old].partition("#")
    page, there = (site / old).read_text(encoding="utf-8"), (site / name).read_text(encoding="utf-8")
    assert f'http-equiv="refresh" content="0; url={NEW[old]}"' in page and f'rel="canonical" href="{name}"' in page and f'<a href="{NEW[old]}">' in page
    assert not section or f'id="{section}"' in there, section


def test_a_section_that_was_asked_for_is_asked_for_again(tmp_path):
    (tmp_path / "cards.html").touch()
    table = tmp_path / "moved.csv"
    table.write_text("old,new\nmemories.html,cards.html#memories\nold.html,gone.html\n")
    redirect(tmp_path, "https://a.org/b/", table)
    page = (tmp_path / "memories.html").read_text()
    assert 'location.replace("cards.html" + (location.hash || "#memories"))' in page and 'href="https://a.org/b/cards.html"' in page
    assert re.search(r"script-src 'self' 'sha256-[^']+'", page) and not (tmp_path / "old.html").exists()
