"""Price books through the pages on money: small random ones through the plans, odd ones of a reader's own through the notebooks."""
import csv
import functools
import io
import random
import re

import pandas as pd
import pytest
from hypothesis import example, given, HealthCheck, settings, strategies as st

from book.build.charts import compile_chart, specs_in
from book.build.editions import follow
from book.build.inputs import ROOT, surroundings
from book.pages import (break_even as renting_options, commitments, sharing, total_cost as bill_choice,
                        training_cost as offers, what_changed as page, what_to_buy as budget)
from gpucalc import Case
from gpucalc.decisions import capacity, rent_or_buy, token_offers, what_changed
from gpucalc.rows import catalogue, price_book, project_books
from tests.book.test_own_prices import HOSTILE, texts
from tests.contents import PRICED

H100, A100, L4 = GPUS = "H100 SXM 80GB", "A100 SXM 80GB", "L4 24GB"
COLUMNS = list(price_book.PRICES.columns)
BLANK = dict.fromkeys(COLUMNS, "") | dict.fromkeys(["gpus_per_server", "reserved_years", "from_bytes", "to_bytes"], float("nan"))
# Items beside rents, any of which a book may lack: their rows but for the price, and the price that is usual.
OTHERS = {
    "server": [dict(provider=name, sku=f"8 of {name}", gpu=H100, gpus_per_server=8.0, term="purchase", price=price)
               for name, price in (("Maker", 300_000), ("Reseller", 300_000))],
    "card": [dict(provider="Shop", sku=gpu, gpu=gpu, gpus_per_server=1.0, term="purchase", price=price)
             for gpu, price in zip(("RTX 4090 24GB", L4), (2000, 2500))],
    "power": [dict(provider="Grid", sku=name, region=name, term="list", price=0.1) for name in ("here", "there")],
    "hosting": [dict(provider="Hall", sku="rack", term="list", price=2000)],
    "hosting-power": [dict(provider="Hall", sku=name, region=name, term="list", price=180) for name in ("here", "there")],
    "switch": [dict(provider=name, sku="64 ports", term="purchase", price=600) for name in ("Maker", "Reseller")],
    "cable": [dict(provider="Maker", sku="3 m", term="purchase", price=400)],
    "storage": [dict(provider=name, sku="store", term="list", includes="object", price=0.02) for name in ("North", "South")],
    "egress": [dict(provider=name, sku="out", term="list", from_bytes=0.0, price=0.09) for name in ("North", "South")],
    "managed": [dict(provider="North", sku="service", term="list", price=0.2)],
    "api": [dict(item=item, provider=name, sku="Llama-3-8B", term="list", price=price)
            for name in ("East", "West") for item, price in (("api-input", 0.05), ("api-output", 0.08))]}
YEARS = {"reserved-1y": 1.0, "reserved-3y": 3.0}
TERMS = ["on-demand", "on-demand", "on-demand", "spot", "reserved", *YEARS, "capacity-block", "marketplace"]
# Few prices, so that many are equal.
some_rents = st.dictionaries(
    st.tuples(st.sampled_from(["North", "South", "East"]), st.sampled_from([H100, *GPUS]), st.sampled_from([1.0, 8.0]), st.sampled_from(TERMS)),
    st.tuples(st.sampled_from([1, 1.5, 2, 4]), st.sampled_from(["seen", "seen", "seen", "secondary", "floor"])), min_size=3, max_size=9)
some_items = st.sets(st.sampled_from(sorted(OTHERS)), min_size=len(OTHERS) - 4)
orders = st.randoms(use_true_random=False)
few = functools.partial(settings, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def book_of(rents, items):
    """A book of those rents, by provider, GPU, size and term, and of the other items."""
    rows = [dict(item="rent", provider=provider, sku=f"{size:g} of {gpu}", gpu=gpu, gpus_per_server=size, term=term,
                 price=rate * size, reserved_years=YEARS.get(term, float("nan")), confidence=sure)
            for (provider, gpu, size, term), (rate, sure) in rents.items()]
    rows += [dict(item=item) | row for item in sorted(items) for row in OTHERS[item]]
    filled = [BLANK | dict(date="2026-10-01", confidence="seen", source="a list", currency="USD", unit="USD") | row
              for row in rows]
    return project_books.finished(pd.DataFrame(filled, columns=COLUMNS), "random.csv")


def shuffled(book, chance):
    mixed = book.iloc[chance.sample(range(len(book)), len(book))]
    mixed.attrs = book.attrs
    return mixed


# What each page asks of a book

TOKENS = Case(model="Llama-3-8B", efficiency="achieved", weight_element_bytes=2, cache_element_bytes=2, prompt=1000, output=200,
              cached_share=0, requests_per_month=5e6, peak_factor=2, answer_limit=20, late_share=0.05, **capacity.ENGINE)
RUN = Case(model="Llama-3-8B", recipe="mixed-adamw-fp32-grads", efficiency="achieved", training_tokens=1e9, global_batch=64,
           sequence=8192, gpus=16, deadline_days=28, restart_seconds=600, checkpoint_seconds=60)
LOAD = dict(gpu_hours=100, runs=20, corpus_bytes=500e9, stored_bytes=1.2e12, months=1)
MIX = Case(trough_gpus=40, peak_gpus=100, interruptible_share=0.3, machine_interruption_seconds=86400, checkpoint_seconds=60,
           restart_seconds=600)


@functools.cache
def points():
    return capacity.search(TOKENS, capacity.linked_gpus(H100).loc[list(GPUS)], [1, 8])


def rent_or_own(book, term="on-demand"):
    found = rent_or_buy.deal(book, H100, catalogue.assumptions(), {}, term)
    case, some = found.case(catalogue.gpu(H100)), rent_or_buy.draws(found.ranges, 300)
    gains = rent_or_buy.outcomes(rent_or_buy.owning_npv, case, some)
    verdict = rent_or_buy.verdict(gains)
    assert verdict.cheaper == ("owning" if gains.mean() > 0 else "renting") and verdict.low <= verdict.high
    return verdict, [row and row.name for row in found.rows.values()], [row.name for row in found.doubt]


def run(book):
    search = offers.searched(RUN, book)
    found = offers.decided(search)
    best = offers.recommended(found)
    return None if best is None else (best.row, best.compute_usd, offers.assurance(found, best), offers.by_deadline(
        search, [1, 28]).to_dict("records"), offers.front(found)["row"].tolist(), offers.cheapest_flops(book).index.tolist())


def bill(book):
    home, rents = bill_choice.home(book), bill_choice.rents_with_services(book, H100)
    found = bill_choice.ways(book, rents, home, **LOAD)
    cents = found[bill_choice.PARTS].mul(100).round()
    assert cents.sum(axis=1).tolist() == found["total_usd"].mul(100).round().tolist(), "parts are whole cents that add up"
    assert (found["least_usd"] <= found["total_usd"]).all() and (found["total_usd"] <= found["most_usd"]).all()
    best, then = bill_choice.best(found), bill_choice.second(found)
    said = then is not None and bill_choice.verdict(best.copy(), then.copy(), 20) if "low_hours" in found else ""
    return (best.way, best.row, best.most_usd, said, bill_choice.open_rivals(found)["row"].tolist(),
            bill_choice.by_home(book, rents, **LOAD).to_dict("records"))


def tokens(book):
    plans, sold = token_offers.month_plans(points(), book, "on-demand", TOKENS), token_offers.priced_offers(book, "Llama-3-8B", TOKENS)
    columns = ["row", "gpu", "tensor_parallel", "rented_gpus", "serving_usd_per_month"]
    return plans[columns].to_dict("records"), sold[["row", "api_request_usd", "firm"]].to_dict("records"), token_offers.servers(
        book, "on-demand")["row"].tolist(), token_offers.break_even_plans(points(), book, "on-demand", 1e-3, 20)["row"].tolist()


def bought(book):
    sure = budget.sure(book)
    held, trained = budget.owned(sure, 5000, 36), budget.trained(sure, 5000, 0.4, RUN.rows["recipe"].name)
    most = budget.most_requests(budget.priced_by(points(), sure, "on-demand", TOKENS), 5000)
    return (held and held["server"].name, trained and (trained["rent"].name, trained["fits"]),
            most and (most.plan, most.offer["row"]))


def mixed(book):
    rates = [row and row.name for row in commitments.rates(book, H100)]
    return rates, commitments.by_gpu(book, MIX).to_dict("records"), commitments.blocks(book, 14).to_dict("records")


def ways_to_rent(book):
    case = Case(machine_interruption_seconds=86400, checkpoint_seconds=60, restart_seconds=600,
                interruption_seconds="group_interruption_seconds")
    parts = (renting_options.reservations(book), renting_options.managed_rents(book, H100),
             renting_options.spot_offers(book, H100, case.but(machines=1), case.but(machines=16)))
    return [part.to_dict() for part in parts], renting_options.usual_rent(book, H100)


def shared(book):
    found = sharing.choice(TOKENS, book, H100, [L4], "on-demand")
    return found and (sharing.ways(found, TOKENS)[["gpu", "row", "alone_usd"]].to_dict("records"),
                      sharing.smaller_cards(book, H100, 0.2, 20e9, 0.7, "on-demand").index.tolist())


def moved(book):
    other = book.assign(price=book["price"] * 1.5, usd_per_hour=book["usd_per_hour"].where(book["gpu"] == H100, 0.5))
    other.attrs = book.attrs | {"file": "older.csv", "date": "2026-01-01"}
    found = page.compared(other, book, what_changed.Situation(models=()))
    return (found.drop(columns="question").to_dict("list"), page.provider_moves(other, book).to_dict("list"),
            what_changed.worked(other, book))


def terms(book):
    return bill_choice.substitutes(book, "on-demand").to_dict("list"), bill_choice.card_terms(book).to_dict("list")


def rent_or_own_on_spot(book):
    return rent_or_own(book, "spot")


def answer(page, book):
    """What the page says, as text; or that a price is missing, the only thing that may be in the way."""
    try:
        return repr(page(book))
    except price_book.MissingPrice as error:
        return str(error)


def check(page, rents, items, chance):
    book = book_of(rents, items)
    assert answer(page, book) == answer(page, shuffled(book, chance))


# A cheaper offer that is otherwise the same

def run_usd(book):
    best = offers.recommended(offers.decided(offers.searched(RUN, book)))
    return None if best is None else best.compute_usd


def bill_usd(book):
    return bill_choice.best(bill_choice.ways(book, bill_choice.rents_with_services(book, H100), "North", **LOAD)).most_usd


def mix_usd(book):
    found = commitments.rates(book, H100)
    return commitments.costs(commitments.mix(MIX, found, H100, "random.csv"))["best"]


def shared_usd(book):
    found = sharing.choice(TOKENS, book, H100, [L4], "on-demand")
    return found and sharing.ways(found, TOKENS)["alone_usd"].min()


def worth(law, book):
    try:
        return law(book)
    except price_book.MissingPrice:
        return None


@pytest.mark.long
@few(max_examples=8)
@given(some_rents, st.data())
def test_a_lower_price_of_one_offer_never_costs_more(rents, data):
    offer = data.draw(st.sampled_from(list(rents)))
    rate, sure = rents[offer]
    before, after = (book_of(rents | {offer: (price, sure)}, OTHERS) for price in (rate, 0.9 * rate))
    for law in (run_usd, bill_usd, mix_usd, shared_usd):
        old, new = worth(law, before), worth(law, after)
        assert (old is None) == (new is None) and (old is None or new <= old * (1 + 1e-9) + 0.005), law.__name__


# Any book, in any order

@pytest.mark.parametrize("page", [rent_or_own, rent_or_own_on_spot, tokens, mixed, ways_to_rent, shared, terms])
@few(max_examples=10)
@given(some_rents, some_items, orders)
@example({}, set(OTHERS), random.Random(0))
def test_no_page_falls_over_a_book_or_the_order_of_its_rows(page, rents, items, chance):
    check(page, rents, items, chance)


@pytest.mark.long
@pytest.mark.parametrize("page", [run, bill, moved])
@few(max_examples=6)
@given(some_rents, some_items, orders)
@example({}, set(OTHERS), random.Random(0))
def test_nor_do_those_that_take_longer(page, rents, items, chance):
    check(page, rents, items, chance)


@pytest.mark.long
@few(max_examples=2)
@given(some_rents, some_items, orders)
def test_nor_does_a_budget(rents, items, chance):
    check(bought, rents, items, chance)


# Books of a reader's own, over the newest book and alone, through the notebooks that read prices

def sheet(head, *rows):
    return "\n".join([head, *rows])


def some_of(path, share, factor=1.0):
    """A random share of what a project's book has of a provider and a GPU, at prices raised by up to the factor, each together."""
    rows, held = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))), io.StringIO()
    writer = csv.DictWriter(held, list(rows[0]))
    writer.writeheader()
    for row in rows:
        chance = random.Random(f"{share} {row['provider']} {row['gpu']}")
        if chance.random() < share:
            writer.writerow(row | {"price": f"{float(row['price']) * chance.uniform(1, factor):.6g}"})
    return held.getvalue()


PLAIN, BY_TERM, BY_ITEM, BY_SELLER = "gpu,usd_per_hour", "gpu,usd_per_hour,term", "item,gpu,gpus,price", "provider,gpu,gpus,price"
OLDEST, NEWEST = price_book.price_books()[0], price_book.price_books()[-1]
OWN = {
    "two rents": sheet(PLAIN, "H100,2.95", "A100,1.40"),
    "one small card": sheet(PLAIN, "L4,0.45"),
    "servers": sheet(BY_ITEM, "server,H100,8,265000", "server,H200,8,310000"),
    "a known seller": sheet(BY_SELLER, "AWS,H100,8,24.80"),
    "unknown sellers": sheet(BY_SELLER, "Acme,H100,8,19.2", "Acme,H200,8,24", "Other,A100,4,6", "Other,L40S,1,0.9"),
    "markup": sheet(BY_SELLER, f'"{HOSTILE}",H100,8,23.6', '"{{ 7 * 7 }} $x$ `a` [b](javascript:alert(1))",A100,8,11.2'),
    "euros": sheet("gpu,usd_per_hour,currency", "H100,2.60,EUR", "H200,3.10,EUR", "A100,1.20,EUR"),
    "spot": sheet(BY_TERM, "H100,1.10,spot", "A100,0.60,spot"),
    "reserved": sheet(BY_TERM, "H100,1.90,1 year", "H100,1.50,3 years", "A100,0.9,reserved"),
    "other terms": sheet(BY_TERM, "H100,2.50,capacity-block", "H200,3.00,serverless", "L4,0.30,marketplace"),
    "equal": sheet(PLAIN, *(f"{gpu},2.00" for gpu in ("H100", "H200", "A100", "B200", "L40S", "MI300X", "A100 SXM 40GB"))),
    "nobody's": sheet(PLAIN, "TPU v5e,1.20"),
    "old": sheet(PLAIN, "Quadro RTX 6000,0.50"),
    "a rack": sheet("gpu,gpus,price", "GB200 NVL72,72,700"),
    "cheap": sheet(PLAIN, "H100,0.02", "A100,0.02", "L4,0.02"),
    "expensive": sheet(PLAIN, "H100,900", "A100,900", "L4,900"),
    "cards": sheet("item,gpu,price", "card,RTX 4090,1900", "card,L4,2400"),
    "free": sheet("item,price", "power,0", "hosting-power,0", "switch,0", "cable,0"),
    "tokens": sheet("item,provider,sku,price", "api-input,Acme,Llama-3-8B,0.05", "api-output,Acme,Llama-3-8B,0.09"),
    "a store": sheet("item,provider,sku,price", "storage,Acme,store,0.02", "egress,Acme,out,0.05"),
    "all of one": sheet(BY_ITEM, "rent,H100,8,20", "server,H100,8,250000", "power,,,0.1", "hosting-power,,,150"),
    "the newest": NEWEST.read_text(encoding="utf-8"), "the oldest": OLDEST.read_text(encoding="utf-8"),
    "a tenth": some_of(NEWEST, 0.1), "a third": some_of(NEWEST, 0.33), "a half, raised": some_of(NEWEST, 0.5, 2)}
SAMPLE = ("one small card",)
HOLE = re.compile(r"\b(nan|None|NaN|inf)\b")


def breaks(folder, name, alone):
    """What goes wrong in the notebooks that read prices, with a reader's book over the newest one, or alone."""
    path = folder / "mine.csv"
    path.write_text(OWN[name], encoding="utf-8")
    given = {"prices": str(path)} | ({"only": True} if alone else {}) | ({"rates": {"EUR": 1.1}} if name == "euros" else {})
    jobs = [dict(topic=topic, path=str(ROOT / f"notebooks/{topic}.md"), parameters=given, pictures=False, answer=False,
                 target=str(folder / f"{topic}.ipynb"), own="your file mine.csv") for topic in PRICED]
    wrong = follow(jobs, ROOT, surroundings(), quiet=True)
    for made in sorted(folder.glob("*.ipynb")):
        shown = re.sub(r' data-[\w-]+="[^"]*"', "", "\n".join(texts(made)))
        wrong += [f"{made.stem}: {shown[max(0, hole.start() - 60):hole.end() + 20]}" for hole in HOLE.finditer(shown)]
        wrong += [f"{made.stem}: {HOSTILE} is markup"] if HOSTILE in shown else []
        for spec in specs_in(made):
            try:
                compile_chart(spec)
            except Exception as error:
                wrong.append(f"{made.stem}, {spec['usermeta']['alt']}: {error}")
    return wrong


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLE)
def test_a_book_of_few_prices_breaks_no_page(tmp_path, name):
    assert breaks(tmp_path, name, alone=True) == []


@pytest.mark.long
@pytest.mark.parametrize("alone", [False, True], ids=["over the newest", "alone"])
@pytest.mark.parametrize("name", OWN)
def test_no_book_breaks_a_page(tmp_path, name, alone):
    assert breaks(tmp_path, name, alone) == []
