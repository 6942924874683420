"""Citations of prices that no other row moves, in the library and on pages."""
import shutil

import pytest

from book.pages import total_cost, training_cost as offers, what_changed as page
from book.prices.book_diff import matched
from gpucalc.core.evaluate import Case
from gpucalc.decisions import rent_or_buy, token_offers, what_changed
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.rents import cheapest_rent, PER, rents
from tests.gpucalc.test_rents import BOOKS, H100


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """The newest book, and a copy of it with an unrelated price in its first row."""
    newest = price_book.price_books()[-1]
    folder = tmp_path_factory.mktemp("copy")
    shutil.copy(newest, folder / newest.name)
    header, rest = newest.read_text().split("\n", 1)
    extra = f"rent,Elsewhere,p100,P100 SXM 16GB,1,nowhere,marketplace,99,USD,USD/h,,,,,,2026,list,seen,\n{rest}"
    (folder / newest.name).write_text(f"{header}\n{extra}")
    return [price_book.project_book(path) for path in (newest, folder / newest.name)]


def test_an_offer_is_cited_by_its_key(twice):
    row = cheapest_rent(twice[0], gpu=H100, term="on-demand")
    assert row.name == f"{twice[0].attrs['file']}: {row.provider}, {row.sku}, {row.region}, {row.term}"
    assert price_book.price(twice[0], "hosting").name.startswith(f"{twice[0].attrs['file']}: hosting, ")
    assert twice[0].index.is_unique and len(twice[1]) == len(twice[0]) + 1


def deals(book):
    found = rent_or_buy.deal(book, H100, catalogue.assumptions(), {})
    return {item: (row.name, dict(row)) for item, row in found.rows.items()}, found.ranges.to_dict(), found.fixed


def on_offer(book):
    return [rents(book, per=per, gpu=H100).to_dict("index") for per in (None, *PER)]


def run(book):
    job = Case(model="Llama-3-8B", training_tokens=100e9, global_batch=512, sequence=8192, gpus=64, deadline_days=28, provider="Nebius",
               recipe="mixed-adamw-fp32-grads", efficiency="achieved")
    return offers.ranked(offers.decided(offers.searched(job, book))).to_dict("records")


def bill(book):
    priced = total_cost.rents_with_services(book, H100)
    found = total_cost.bills(book, priced, "AWS", 100, 20, 500e9, 1.2e12, 1, cached=1)
    return found.to_dict("records"), total_cost.managed_price(book, "AWS", "p5.48xlarge", H100).name, total_cost.stores(book).to_dict()


def tokens(book):
    server = token_offers.server(book, H100, 4, "on-demand")
    return server.name, dict(server), token_offers.servers(book, "on-demand").to_dict("index")


def changed(book):
    older, situation = BOOKS[0], what_changed.Situation(models=())
    moves = page.provider_moves(older, book)
    held = what_changed.decision(book, H100)["deal"].rows
    return (moves.to_dict("records"), page.compared(older, book, situation).to_dict("records"),
            {item: row.name for item, row in held.items()})


def diff(book):
    frame = matched(BOOKS[0], book)
    return frame[frame["provider"] != "Elsewhere"].to_dict("records")


@pytest.mark.parametrize("query", [deals, on_offer, run, bill, tokens, changed, diff])
def test_an_unrelated_row_changes_no_answer_and_no_citation(twice, query):
    before, after = map(query, twice)
    assert repr(before) == repr(after)
