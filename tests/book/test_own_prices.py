"""Pages made from a price file of the reader's own, with text in it that would like to be markup."""

import csv
import json
from html import escape
from urllib.parse import quote

import pytest

from book.build.editions import Editions, text
from book.build.given import read_given
from book.build.inputs import alone, Frozen, ROOT
from book.build.site import build_book
from book.components.sentences import markdown
from book.pages import total_cost as stores
from gpucalc import Case, break_even, owning, renting, serving, serving_cost, total_cost
from gpucalc.core.figures import percent, quantity, three_figures
from gpucalc.decisions import rent_or_buy
from gpucalc.rows import catalogue
from gpucalc.rows.price_book import price_books, prices
from gpucalc.rows.rents import cheapest_rent
from tests.contents import PRICED

HOSTILE = "<script>alert(1)</script>"
CASE = "job=serve&model=Llama-3-70B&requests_per_second=1&cards=H100+SXM+80GB"
OLDER = price_books()[0]
# Pages whose figures are compared; the others of this edition are those of the tests' site.
COMPARED = ("break_even", "serving_cost", "total_cost", "training_cost")


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A copy of the older price book with one more offer, as a file of the reader's own."""
    path = tmp_path_factory.mktemp("prices") / "own prices.csv"
    add_offer(OLDER, path, HOSTILE)
    return path


def run(topics, own):
    """The file of each of these notebooks from a run with that file."""
    class Few(Frozen):
        topics = None

    Few.topics = topics
    with alone(ROOT / "_build"):
        return Editions(Few(ROOT, ROOT / "_build/frozen", read_given(prices=str(own))), recorded=False).current()


@pytest.fixture(scope="module")
def ran(own):
    return run(COMPARED, own)


@pytest.fixture(scope="module")
def edition(browser, own, site, executed, ran):
    """The text of the front page and of those that are compared, of the book made from that file; no page may open a dialog."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Editions, "current", lambda _: executed | ran)
        folder = build_book(prices=own, output=ROOT / "_build/test-edition")
    page, dialogs, texts = browser.new_page(), [], {}
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for name in ("index", *COMPARED):
        page.goto(f"{folder.as_uri()}/{name}.html")
        texts[name] = page.locator("article").text_content()
    page.goto(f"{folder.as_uri()}/index.html#{CASE}&provider={quote(HOSTILE)}")
    page.reload()
    page.wait_for_selector(".case-options")
    texts["case"] = page.locator("#case").text_content()
    page.close()
    assert dialogs == []
    return texts


def add_offer(book, path, provider):
    """Writes the price book with one more row: a dear offer of the H100 from `provider`."""
    with open(book, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    offer = next(row for row in rows if row["item"] == "rent" and row["gpu"] == "H100 SXM 80GB" and row["term"] == "on-demand")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(offer))
        writer.writeheader()
        writer.writerows([*rows, {**offer, "provider": provider, "price": "999"}])


@pytest.mark.long
def test_a_price_file_of_the_readers_own_is_named_and_its_markup_is_text(edition, ran):
    """On the pages that are made, and in what their notebooks show, from which pages are made."""
    assert all("own prices.csv" in edition[name] for name in ("index", *COMPARED))
    shown = assert_text(ran)
    assert any(escape(HOSTILE) in each for each in shown) and any(markdown(HOSTILE) in each for each in shown)


@pytest.mark.long
def test_markup_in_prices_is_text_on_every_page(own):
    assert_text(run([topic for topic in PRICED if topic not in COMPARED], own))


def assert_text(ran):
    """Each notebook names the file, and none shows markup of it; what they show."""
    shown = {topic: "\n".join(texts(path)) for topic, path in ran.items()}
    assert [topic for topic, each in shown.items() if "own prices" not in each or HOSTILE in each] == []
    return shown.values()


def texts(path):
    """What an executed notebook shows as HTML, as Markdown, and as what stands under a chart."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            yield from (text(data[kind]) for kind in ("text/html", "text/markdown") if kind in data)
            yield from (spec.get("usermeta", {}).get("caption", "") for spec in data.values() if isinstance(spec, dict))


@pytest.mark.long
def test_the_front_page_answers_at_the_readers_prices(edition):
    assert all(text in edition["case"] for text in ("your price", "own prices.csv", HOSTILE))


def figures(book):
    """Ten figures of four pages that follow from the prices of a book, by the laws, as text."""
    gpu, achieved = catalogue.gpu("H100 SXM 80GB"), catalogue.efficiency("achieved")
    owned = rent_or_buy.deal(book, gpu.name, catalogue.assumptions(), {}).case(gpu)
    rate = cheapest_rent(book, gpu=gpu.name, term="on-demand", at_least=4).usd_per_hour
    served = Case(catalogue.model("Llama-3-70B"), catalogue.link(gpu.link), gpu, achieved, catalogue.weight_format("FP8"), batch=64,
                  tensor_parallel=4, prompt=2000, output=300, context=serving.mean_context, replica_utilization=0.5,
                  cache_element_bytes=1, narrow_products=1, usd_per_hour=rate)
    store = stores.first_price(book, "storage", "AWS").usd_per_gb_month
    return {"break_even": [percent(owned(break_even.break_even_utilization)),
                           f"{owned(owning.owned_usd_per_hour):.2f} USD/h", f"{owned(owning.capital_usd_per_hour):.2f} USD/h",
                           f"{owned(renting.level_usd_per_hour):.2f} USD/h", f"{owned(break_even.break_even_rent):.2f} USD/h",
                           quantity("break_even_months", owned(break_even.break_even_months))],
            "serving_cost": [f"{three_figures(served(serving_cost.input_usd_per_million))} USD",
                             f"{three_figures(served(serving_cost.output_usd_per_million))} USD"],
            "total_cost": [f"{total_cost.storage_usd(1.2e12, store, 1):,.2f}"],
            "training_cost": [f"{rate:.2f} USD/h"]}


@pytest.mark.long
def test_pages_follow_the_prices(edition, on_disk, own):
    """Of either price book, each figure stands on its page, and those that its prices move not on the page of the other."""
    older, newer = (figures(prices(book)) for book in (own, price_books()[-1]))
    assert sum(map(len, older.values())) == 10
    for name in older:
        page = on_disk(name).locator("article").text_content()
        assert [figure for figure in newer[name] if figure not in page] == []
        assert [figure for figure in older[name] if figure not in edition[name]] == []
    assert sum(older[name][place] != figure for name in older for place, figure in enumerate(newer[name])) >= 7


def test_an_older_book_of_ones_own_lies_over_the_newest(own):
    """What the older book prices is the reader's, what both have word for word is the newest's, and what only the newest has
    stays, rents on other terms too; hosting by the server stands in for hosting by the kilowatt."""
    book, newest, older = prices(own), prices(), prices(OLDER)
    assert set(book.loc[book["yours"], "item"]) <= set(older["item"]) and set(newest["item"]) - set(book["item"]) == {"hosting-power"}
    rents = book[(book["item"] == "rent") & (book["gpu"] == "H100 SXM 80GB")]
    before, now = (each[(each["item"] == "rent") & (each["gpu"] == "H100 SXM 80GB")]["term"] for each in (older, newest))
    assert len(rents) == len(before) + 1 + (~now.isin(before)).sum() and 0 < (~now.isin(before)).sum() < len(now)
    assert HOSTILE in set(rents["provider"]) and any(f"{999 / 8:,.0f} USD/h for one H100" in each for each in book.attrs["warnings"])
