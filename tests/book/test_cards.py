"""Every card and every model: each derived cell of the table is what its law gives for that card or model alone."""
import html
import math
import re

import pytest

from book.pages import cards, models
from gpucalc import Case
from gpucalc.decisions.capacity import left_out, narrow_products
from gpucalc.laws import choosing, kv_cache, quantization, serving_cost, sharing, worth
from gpucalc.laws.arithmetic_intensity import ridge_point, tokens_per_second
from gpucalc.laws.model_size import active_params, params
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.ages import SOLD_DAYS, days
from gpucalc.rows.rents import cheapest_rent

BOOK = price_book.prices()
LOADS = {"one": cards.load("Llama-3-8B", "BF16", 1, 2048), "many": cards.load("Llama-3-8B", "BF16", 32, 2048),
         "large": cards.load("Llama-3-70B", "INT4-g128", 1, 2048)}
FRAME = cards.every_card(BOOK, LOADS)
MODELS = models.every_model(8192)
FORMATS = {"one": "BF16", "many": "BF16", "large": "INT4-g128"} | {f"largest_{name}": name for name in cards.SIZES}


def exactly(value):
    return pytest.approx(value, rel=1e-9, nan_ok=True)


def cells(made):
    """The numbers of a table in full, by row and header; NaN for a dash."""
    head, *rows = re.findall(r"<tr>(.*?)</tr>", made._repr_html_())
    names = [html.unescape(re.sub("<[^>]*>", "", each)) for each in re.findall("<th[^>]*>.*?</th>", head)]
    found = {}
    for row in rows:
        name, *others = re.findall(r"<t[dh](?: [^>]*)?>.*?</t[dh]>", row)
        values = [re.match(r"<td data-value=([^>]*)>", each) for each in others]
        found[html.unescape(re.sub("<[^>]*>", "", name))] = {
            head: float(value[1]) if value else math.nan for head, value in zip(names[1:], values, strict=True)}
    return found


CELLS = cells(cards.cards_table(FRAME, BOOK, LOADS, "Cards"))


def alone(gpu, law, needs=(), scale=1, **case):
    """The law for one card as the catalogue has it; NaN where what it needs is blank."""
    row = catalogue.gpu(gpu) | {name: FRAME.at[gpu, name] for name in ("usd_per_hour", "card_usd")}
    if any(row[name] != row[name] for name in needs):
        return math.nan
    return scale * Case(row, **case)(law)


def model_alone(gpu, name, law, load):
    """What the law gives for a model on one card, NaN without a path for the format or room for the batch."""
    frame = catalogue.gpus().loc[[gpu]]
    stored = FORMATS[name]
    case = load.but(gpu=gpu, narrow_products=float(narrow_products(frame, stored).squeeze()), weight_format=stored)
    if left_out(frame.assign(latency=0), stored).iloc[0]:
        return math.nan
    if law is tokens_per_second:
        return case.band(law).plan if case(kv_cache.max_batch) >= load.inputs["batch"] else math.nan
    return case(law)


def test_scores_of_public_boards_stand_beside_what_a_token_costs():
    scores = catalogue.quality()
    assert not scores.duplicated(["model", "board"]).any() and sorted(set(scores["board"])) == sorted(models.BOARDS)
    shown = cells(models.models_table(MODELS, "Models"))
    for _, row in scores.iterrows():
        assert shown[row["model"]][row["board"]] == row["score"]
        assert f"{row['board']}, {row['date']}: {row['named']}" in MODELS.at[row["model"], "runs"]
    assert math.isnan(shown["GPT-3-175B"]["LiveBench"]) and "active_params" in models.GROUPS["Quality"]


@pytest.mark.parametrize("gpu", FRAME.index)
def test_every_derived_cell_of_a_card_is_its_law_for_it_alone(gpu):
    rent, price, power = ["usd_per_hour"], ["card_usd"], ["tdp_watts"]
    expected = {
        "ridge_point": alone(gpu, ridge_point), "bandwidth_per_watt": alone(gpu, worth.bandwidth_per_watt, power),
        "flops_per_watt": alone(gpu, worth.flops_per_watt, power),
        "bandwidth_per_rent": alone(gpu, worth.bandwidth_per_rent, rent),
        "flops_per_rent": alone(gpu, worth.flops_per_rent, rent),
        "flops_month_usd": alone(gpu, worth.flops_month_usd, rent, 1e12),
        "bandwidth_per_usd": alone(gpu, worth.bandwidth_per_usd, price, 1e3),
        "flops_per_usd": alone(gpu, worth.flops_per_usd, price, 1e3),
        "month_usd": alone(gpu, serving_cost.serving_usd_per_month, rent, rented_gpus=1)}
    expected |= {name: model_alone(gpu, name, tokens_per_second, load) for name, load in LOADS.items()}
    expected |= {f"largest_{name}": model_alone(gpu, f"largest_{name}", choosing.largest_params, LOADS["large"])
                 for name in cards.SIZES}
    assert expected.keys() == cards.derived(LOADS).keys(), "each derived column is compared"
    shown = {name: CELLS[gpu][cards.LABELS.get(name, name)] for name in expected}
    assert shown == {name: exactly(value) for name, value in expected.items()}


def test_every_column_of_the_data_is_shown():
    held = {name for names in cards.GROUPS.values() for name in names}
    assert set(catalogue.gpus().columns) & set(catalogue.table("gpus").columns) - held == {"unit"}


@pytest.mark.parametrize("gpu", FRAME.index[FRAME["usd_per_hour"].notna()])
def test_the_rent_is_the_cheapest_firm_one_on_demand(gpu):
    best = cheapest_rent(BOOK, gpu=gpu, term="on-demand")
    assert FRAME.at[gpu, "usd_per_hour"] == best.usd_per_hour and FRAME.at[gpu, "rent_row"] == best.name
    assert best.confidence == "seen"


def test_the_price_of_a_card_is_its_newest_that_is_seen_and_not_too_old():
    cards = BOOK[BOOK["item"] == "card"]
    age = days(BOOK)[cards.index]
    newest = age.groupby(cards["gpu"]).min()
    known = FRAME["card_usd"].dropna().index
    assert {"RTX 3090 24GB", "RTX 5070 12GB"} <= {*known} and "GTX 1080 8GB" not in known
    for gpu in newest.index:
        row = FRAME.at[gpu, "card_row"]
        if gpu in known:
            assert BOOK.at[row, "price"] == FRAME.at[gpu, "card_usd"] and age[row] == newest[gpu] <= SOLD_DAYS
            assert BOOK.at[row, "confidence"] != "recalled"
        else:
            of = cards[(cards["gpu"] == gpu) & (age == newest[gpu])]
            assert newest[gpu] > SOLD_DAYS or (of["confidence"] == "recalled").any()


def test_most_of_something_is_first():
    found = cards.most(FRAME, "bandwidth_per_rent")
    assert found["bandwidth_per_rent"].is_monotonic_decreasing and found["bandwidth_per_rent"].notna().all()
    assert cards.most(FRAME, "bandwidth_per_usd", FRAME["kind"] == "consumer")["kind"].eq("consumer").all()


def test_a_book_without_rents_and_cards_leaves_blanks():
    few = BOOK[BOOK["item"] == "power"]
    few.attrs = BOOK.attrs
    frame = cards.every_card(few, LOADS)
    assert frame[["usd_per_hour", "card_usd", "bandwidth_per_rent", "bandwidth_per_usd"]].isna().all(axis=None)
    assert "Cards" in repr(cards.cards_table(frame, few, LOADS, "Cards"))
    assert repr(cards.ranked(frame, "flops_per_rent", few, "To train")) == "To train: the price book has no such price."
    assert "Slices of" in repr(cards.card_sources(few, [], cards.slices(few)))


@pytest.mark.parametrize("name", catalogue.partitions().index)
def test_every_derived_cell_of_a_slice_is_its_law_for_it_alone(name):
    row = catalogue.partitions().loc[name]
    shown = cells(cards.slices_table(cards.slices(BOOK), BOOK, "Slices"))[name]
    case = Case(gpu=row["gpu"], **row[["instances", "slice_units", "slice_memory_share"]])
    rent = FRAME.at[row["gpu"], "usd_per_hour"]
    assert shown["bandwidth"] == exactly(case(sharing.slice_bandwidth))
    assert shown["dense peak"] == exactly(case(sharing.slice_flops))
    assert shown["cost of an hour, all used"] == exactly(
        case.but(usd_per_hour=rent)(sharing.slice_usd_per_hour) if rent == rent else math.nan)


# Models

MODEL_CELLS = cells(models.models_table(MODELS, "Models"))


@pytest.mark.parametrize("model", MODELS.index)
def test_every_derived_cell_of_a_model_is_its_law_for_it_alone(model):
    row, case = catalogue.model(model), Case(model=model)
    expected = {"params": case(params), "active_params": case(active_params),
                "kv_bytes_per_token": case(kv_cache.kv_bytes_per_token),
                "native_bytes": case.but(weight_format=row.native_format)(quantization.quantized_weight_bytes)}
    expected |= {f"bytes_{name}": case.but(weight_format=name)(quantization.quantized_weight_bytes)
                 for name in models.FORMATS}
    expected |= {f"cache_{tokens}": case.but(context=tokens)(kv_cache.sequence_kv_bytes) if row.max_context >= tokens
                 else math.nan for tokens in models.CONTEXTS}
    shown = MODEL_CELLS[model]
    assert {name: shown[models.LABELS.get(name, name)] for name in expected} == {
        name: exactly(value) for name, value in expected.items()}


@pytest.mark.parametrize("model", ["Llama-3-8B", "Llama-3-70B", "gpt-oss-120b", "DeepSeek-V3", "Kimi-K2"])
@pytest.mark.parametrize("stored", models.WEIGHT_FORMATS)
def test_the_smallest_card_holds_the_model_and_no_smaller_one_does(model, stored):
    needed = Case(model=model, weight_format=stored, batch=1, context=8192)(quantization.serving_bytes)
    room = {name: Case(gpu=name)(usable_bytes) for name in models.cards_by_size(stored).index}
    said = MODELS.at[model, f"card_{stored}"]
    if " × " in said:
        count, name = said.split(" × ")
        assert max(room.values()) < needed and (int(count) - 1) * room[name] < needed <= int(count) * room[name]
    else:
        sold = catalogue.gpus()["marketed_bytes"]
        assert room[said] >= needed
        assert all(room[name] < needed for name in room if sold[name] < sold[said])


def test_what_a_card_holds():
    held = models.held_on(MODELS, "H100 SXM 80GB", 8192)
    # 70 billion parameters are 141 GB in BF16, 71 GB in FP8.
    assert "Llama-3-70B" not in held["BF16"] and "Llama-3-70B" in held["FP8"] and "Llama-3-70B" in held["INT4-g128"]
    assert models.held_on(MODELS, "V100 SXM 16GB", 8192)["BF16"] == [], "without a path for the format"


def test_links_that_put_two_cards_side_by_side():
    shown = cards.pairs(("A <b>", "C, D"), ("E", "F"))
    assert shown.plain == "Side by side: A <b> and C, D; E and F"
    assert shown.source == ('<p>Side by side: <a href="#compare=A%20%3Cb%3E,C%2C%20D">A &lt;b&gt; and C, D</a>; '
                            '<a href="#compare=E,F">E and F</a>.</p>')
