"""How captions say how old a price is, and what terminal, report and page say of it on a later day."""
import datetime
import html

import pytest

from book.components.dates import dated
from book.web import front
from gpucalc import cli_decide
from gpucalc.core.quantities import DATA
from gpucalc.decisions import answer_words as words, decide as deciding
from gpucalc.rows import price_book
from gpucalc.rows.rents import cheapest_rent
from tests.gpucalc.test_ages import BOOK, H100


def test_a_caption_says_the_book_the_oldest_row_and_what_is_not_yours():
    rent = cheapest_rent(BOOK, gpu=H100, term="on-demand")
    file = BOOK.attrs["file"]
    assert dated(BOOK, rent) == f"prices: {file}, the oldest of {rent.date}"
    assert dated(BOOK) == f"prices: {file}"
    mine = BOOK.assign(yours=False)
    mine.attrs = BOOK.attrs | {"own": True}
    assert dated(mine, rent) == f"prices: {file}, the oldest of {rent.date}; in part not yours"


@pytest.mark.parametrize("clock, days", [("2027-02-24", 157), ("2027-05-24", 246)])
def test_terminal_report_and_page_say_the_same_of_an_old_price(monkeypatch, capsys, tmp_path, clock, days):
    """The price of GH200 at Lambda is of 2026-09-20: 157 days on 2027-02-24 (10 + 31 + 30 + 31 + 31 + 24), 246 on 2027-05-24."""
    monkeypatch.setattr(cli_decide, "today", lambda: datetime.date.fromisoformat(clock))
    sentence = f"The price at Lambda is from 2026-09-20, {days} days ago: ask for a new one."
    assert cli_decide.main([str(DATA / "cases/chat_70b.yaml"), "--report", str(tmp_path / "report.html")]) == 0
    terminal = " ".join(capsys.readouterr().out.split())
    paper = html.unescape((tmp_path / "report.html").read_text())
    found = deciding.answered(deciding.read(str(DATA / "cases/chat_70b.yaml")), price_book.prices())
    facts = words.case_facts(found, front.prices_of(price_book.prices()) | {"today": clock})    # as book/static/page_answer.js has them
    note = next(card.note for card in words.cards(found, facts) if card.name == "cost")
    assert sentence in words.cautions(facts) and sentence in terminal and sentence in paper
    assert note in terminal and note in paper and f"a price from 2026-09-20, {days} days old" in note
