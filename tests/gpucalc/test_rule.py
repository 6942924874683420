"""The rule that chooses, held against plain loops over every combination, and what must hold of any choice."""
import functools
import itertools
import math
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from gpucalc import Case
from gpucalc.core.law import LAWS
from gpucalc.decisions import answer, answer_words, capacity, columns, jobs, points, rule, token_offers
from gpucalc.decisions.market import cards, forbidden, market, replica_degrees
from gpucalc.rows import case_file, catalogue, price_book
from gpucalc.rows.project_books import MissingPrice
from gpucalc.rows.tables import rows

BOOK = price_book.prices(price_book.DATA / "prices" / "2026-06-24.csv")
SERVE = dict(job="serve", model="Llama-3-70B", weight_format="FP8", requests_per_second=10, prompt=1000, output=300,
             first_token_limit=1, token_limit=0.06)
BATCH = dict(job="batch", model="Llama-3-8B", weight_format="BF16", window_requests=10**6)
IMAGES = dict(job="images", model="Llama-3-8B", weight_format="FP16", images_per_day=10**7)
EMBED = dict(job="embed", model="Llama-3-8B", weight_format="BF16", window_requests=10**7)
TRAIN = dict(job="pretrain", model="Llama-3-8B", training_tokens=10**10, gpus=16, deadline_days=30)
LORA = dict(job="lora", model="Llama-3-8B", training_tokens=10**8, gpus=8)


def asked(**given):
    """The whole case, its kind, its market and its chain."""
    case = answer.completed(Case(**given))
    kind = answer.kind_of(case)
    return case, kind, market(case, BOOK, kind), jobs.JOBS[kind].chain


def kept_of(solved, kind, end="plan"):
    """Objective of each choice that keeps all limits, by what tells it apart."""
    table = solved[end].kept
    keys = ("gpus" if kind == "train" else "tensor_parallel", "offer")
    return {tuple(map(int, key)): float(usd) for *key, usd in zip(*(table[name] for name in keys), table[jobs.JOBS[kind].objective])}


@pytest.mark.parametrize("load", [1e16, 1e17])
def test_a_halving_ends_where_a_float_holds_no_whole_numbers(load, monkeypatch):
    """Beyond 2^53 one more than the middle is the middle. The first count of rounds that is too large ends the test; one tries the
    high number, all others halve."""
    monkeypatch.setenv("GPUCALC_STORE", "")
    case, _, tables, steps = asked(**SERVE | dict(requests_per_second=load, cards="H100 SXM 80GB"))
    rounds, least, floor = [], points._least, points.floor

    def halved(value):
        rounds[-1] += 1
        assert rounds[-1] <= points.ROUNDS
        return floor(value)
    with (patch.object(points, "floor", halved), patch.object(points, "_least", lambda *given: (rounds.append(1), least(*given))[1])):
        kept = rule.solve(steps, case, tables)["plan"].kept
    assert max(rounds) == points.ROUNDS and (kept["replicas"] * kept["batch"] > load * kept["request_seconds"] * (1 - 1e-9)).all()


def limit(case, name):
    """A limit of the case, its own or that of its job."""
    given = case.inputs[name]
    return given[name] if isinstance(given, dict) else given


PAGES = {"the page on serving": dict(model="Llama-3-70B", prompt=500, output=200, requests_per_second=1000 / 60, answer_limit=5),
         "a chat": dict(model="Llama-3-70B", weight_format="FP8", cache_element_bytes=1, prompt=1000, output=300, answer_limit=20,
                        requests_per_second=10, first_token_limit=1, token_limit=0.05),
         "a small model": dict(model="Llama-3-8B", prompt=1000, output=300, requests_per_second=300, first_token_limit=0.5)}
FREE = dict.fromkeys(("first_token_limit", "token_limit", "answer_limit"), math.inf)


@pytest.mark.parametrize("name", PAGES)
def test_fleets_are_those_of_the_page(name):
    """GPUs of each card and degree at the plan and both ends, batch and replicas, on all cards that have the format."""
    given = FREE | PAGES[name]
    case = answer.completed(Case(job="serve", sure=0.5, **given))
    own = {key: value for key, value in given.items() if key not in FREE}
    points = capacity.search(
        Case(efficiency="achieved", context=LAWS["mean_context"], **own, **capacity.ENGINE),
        capacity.linked_gpus("H100 SXM 80GB", given.get("weight_format"), given.get("cache_element_bytes")),
        capacity.allowed_degrees(case.rows["model"]))
    gpus = points["gpu"].unique()
    assert {"V100 SXM 16GB", "T4 16GB"} <= {*gpus} or "weight_format" in PAGES[name]
    plans = capacity.plans(points, given["requests_per_second"], **{key: given[key] for key in FREE})
    held = cards(case, {"gpu": np.array(gpus, object)})
    solved = rule.solve(jobs.JOBS["serve"].chain[:1], case, {"cards": held, "assumed": {}} | replica_degrees(case, held))
    found = {end: {(gpu, degree): rest for gpu, degree, *rest in zip(*(table.kept[column] for column in (
        "gpu", "tensor_parallel", "planned_gpus", "batch", "planned_replicas")))} for end, table in solved.items()}
    for row in plans.itertuples():
        key = row.gpu, row.tensor_parallel
        assert [found[end].get(key, [math.inf])[0] for end in ("low", "plan", "high")] == [row.low_gpus, row.gpus, row.high_gpus]
        if row.gpus < math.inf:
            assert found["plan"][key][1:] == [row.batch, row.replicas]


def test_bills_are_those_of_the_page():
    """The cheapest firm servers of each card and degree, up to the page's most servers, and the bill at both ends."""
    given = PAGES["a chat"]
    month = Case(efficiency="achieved", context=LAWS["mean_context"], requests_per_month=10**7, peak_factor=2.5, **capacity.ENGINE,
                 **{key: value for key, value in given.items() if key != "requests_per_second"})
    points = capacity.search(month, capacity.linked_gpus("H100 SXM 80GB", "FP8", 1), (1, 2, 4, 8))
    plans = token_offers.month_plans(points, BOOK, "on-demand", month)
    case, kind, tables, chain = asked(job="serve", sure=0.5, **given | dict(requests_per_second=month("requests_per_second")))
    table = pd.DataFrame(answer.ranked(rule.solve(chain, case, tables), kind))
    table = table[table["rented_gpus"] <= token_offers.SERVERS[-1] * table["gpus_per_server"]]
    found = table.drop_duplicates(["gpu", "tensor_parallel"]).set_index(["gpu", "tensor_parallel"])
    allowed = ~plans["gpu"].map(forbidden(catalogue.gpus()))
    plans = plans[plans["firm"] & allowed].set_index(["gpu", "tensor_parallel"])
    assert {*found.index} == {*plans.index} and found.index[0] == plans.index[0]
    bill = "serving_usd_per_month"
    for column in (bill, f"low_{bill}", "rented_gpus"):
        assert found[column].to_dict() == pytest.approx(plans[column].to_dict(), rel=1e-12)


@pytest.mark.parametrize("job", ["pretrain", "lora"])
def test_the_surer_a_run_the_fewer_choices_and_no_other_figures(job):
    """A choice that keeps its limits more surely is the same choice: its plan is the median and its band goes around it."""
    given = {"pretrain": TRAIN | dict(deadline_days=2), "lora": LORA | dict(deadline_days=0.5)}[job]
    found = {}
    for sure in (0.5, 0.8, 0.9, 0.95):
        case, kind, tables, chain = asked(**given, sure=sure, cards=SOME)
        table = answer.ranked(rule.solve(chain, case, tables, answer.judged(case)), kind)
        assert (table["sure_training_days"] <= limit(case, "deadline_days")).all()
        assert (table["low_compute_usd"] <= table["compute_usd"]).all()
        assert (table["compute_usd"] <= table["high_compute_usd"]).all()
        assert np.isfinite(table["high_compute_usd"]).all()
        assert (table["training_days"] <= table["sure_training_days"] * (1 + 1e-12)).all()
        found[sure] = dict(zip(zip(table["gpus"], table["row"]), table["compute_usd"]))
    for sure, less in itertools.pairwise(found):
        assert found[less].items() <= found[sure].items()
    assert 0 < len(found[0.95]) < len(found[0.5])


def test_a_window_is_busy_as_planned():
    """Its replicas differ at the ends of the band, so their hours there would be no band."""
    found = answer.answer(Case(**BATCH, sure=0.9, cards=SOME), BOOK)
    low, plan, high = found.figures["long"][:3]
    assert low == plan == high == found.best["busy_hours"] <= 24


NAMED = "H100 SXM 80GB, GH200 96GB, T4 16GB, TPU v5p 95GB"


@pytest.mark.parametrize("given", [SERVE, BATCH, EMBED, IMAGES, TRAIN, LORA], ids=lambda given: given["job"])
def test_every_card_that_is_named_has_a_choice_or_a_reason(given):
    found = answer.answer(Case(**given, cards=NAMED), BOOK)
    assert {*found.kept["gpu"], *found.lost} == set(NAMED.split(", "))
    assert found.lost["GH200 96GB"].limit.of == "unrented"
    if found.kind == "train":
        assert found.lost["TPU v5p 95GB"][2:4] == (384, limit(found.case, "gpus"))


GRPO = dict(job="grpo", model="Llama-3-8B", rollout_steps=100, output=500, output_p95=0)


@pytest.mark.parametrize("given, every", [(SERVE, 1), (TRAIN, 1), (BATCH, 9), (EMBED, 9), (IMAGES, 9), (LORA, 9), (GRPO, 9)], ids=str)
def test_every_card_alone_has_a_choice_or_a_reason(given, every):
    """Also one that nobody rents out on these terms: it is a row, as it is beside others."""
    for card in [*rows("gpus")][::every]:
        case, _, tables, steps = asked(**given, cards=card)
        found = rule.solve(steps, case, tables, answer.judged(case), ("plan",))["plan"]
        lost = answer.nearest(found, steps, case)
        assert {*found.kept.get("gpu", ()), *lost} == {card}
        assert (card in tables["offers"]["gpu"]) != (card in lost and lost[card].limit.of == "unrented"), card


READ = [(SERVE, dict(prompt=7892), 8192), (SERVE, dict(prompt=7893), 8193), (SERVE, dict(prompt=7893, max_context=8193), 8193),
        (SERVE, dict(prompt=4000, prompt_p95=8000), 8300), (SERVE, dict(output_p95=1000), 2000), (BATCH, dict(prompt=8000, output=193), 8193),
        (BATCH, dict(prompt=8000, output=192), 8192), (EMBED, dict(prompt=8192), 8192), (EMBED, dict(prompt=8193), 8193),
        (IMAGES, dict(prompt=9000), 9010)]


@pytest.mark.parametrize("given, more, asked_for", READ, ids=str)
def test_a_model_reads_what_its_context_holds(given, more, asked_for):
    """8,192 tokens of Llama-3: prompt and answer together, the long ones where a case knows them; of a document it reads all."""
    case, _, tables, steps = asked(**given | dict(model="Llama-3-8B", cards="H100 SXM 80GB, GH200 96GB") | more)
    most, found = more.get("max_context", 8192), rule.solve(steps, case, tables, 0.0, ("plan",))["plan"]
    lost = {gpu: each[1:] for gpu, each in answer.nearest(found, steps, case).items() if each.limit.most == "most_context"}
    assert {gpu: (value, limit) for gpu, (_, value, limit, _) in lost.items()} == (
        dict.fromkeys(("H100 SXM 80GB", "GH200 96GB"), (asked_for, most)) if asked_for > most else {})
    assert rule.count(found.kept) == 0 or asked_for <= most


def test_a_model_whose_context_is_not_known_has_no_limit():
    for blank in ({"max_context": math.nan}, {}):
        row = {name: value for name, value in catalogue.model("Llama-3-8B").items() if name != "max_context"} | blank
        case, _, tables, steps = asked(**EMBED | dict(model=type(catalogue.model("Llama-3-8B"))(row, "mine", "model"), prompt=10**6))
        assert set(tables["cards"]["most_context"]) == {math.inf}
        assert not any(lost.limit.of == "prompt" for lost in answer.nearest(rule.solve(steps, case, tables)["plan"], steps, case).values())


def test_a_case_on_whose_terms_nobody_rents_out_any_card_says_so():
    with pytest.raises(MissingPrice, match="provider 'Nobody'"):
        answer.answer(Case(**SERVE, cards="H100 SXM 80GB", provider="Nobody"), BOOK)


@pytest.mark.parametrize("given, limit", [(SERVE | dict(weight_format="FP16"), "batch"), (TRAIN, "unlinked")],
                         ids=lambda given: given["job"] if isinstance(given, dict) else given)
def test_a_card_with_an_unknown_link_says_so_and_changes_nothing(given, limit):
    """Beside the same card with a link, whose choices stay as they are."""
    one = answer.answer(Case(**given, cards="H100 SXM 80GB"), BOOK)
    row = BOOK[(BOOK["item"] == "rent") & (BOOK["gpu"] == "H100 SXM 80GB") & (BOOK["term"] == "on-demand")].head(1)
    more = pd.concat([BOOK, row.assign(gpu="Gaudi3 128GB", provider="Elsewhere").rename(index=lambda name: f"{name}, again")])
    more.attrs = BOOK.attrs
    both = answer.answer(Case(**given, cards="H100 SXM 80GB, Gaudi3 128GB"), more)
    assert {gpu: lost.limit.of for gpu, lost in both.lost.items()} == {"Gaudi3 128GB": limit}
    assert both.figures == one.figures and both.kept["row"].tolist() == one.kept["row"].tolist()


# What a case may say that decides nothing here: other ways are those of `plan.ways`, stored data those of `plan.bills`.
ELSEWHERE = {"ways", "corpus_bytes", "data_at"}
# A case in which everything that a job takes counts, and what makes another of it.
FULL = {"serve": dict(daily_users=2e5, messages_per_day=5, busiest_hour_share=0.2, weight_format="BF16", first_token_limit=0.5,
                      token_limit=0.06, answer_limit=16, late_share=0.05, most_load=0.7, spare_replicas=1, usd_per_month=1e6,
                      drafted=2, acceptance=0.6),
        "offline": dict(weight_format="BF16", window_hours=24), "train": dict(training_tokens=10**10, gpus=16, deadline_days=12)}
OTHER = dict(model="Llama-3-70B", cards="L40S 48GB", provider="AWS", term="spot", sure=0.95, weight_format="FP8",
             cache_element_bytes=1, max_context=500, requests_per_second=1, daily_users=1e6, messages_per_day=20, busiest_hour_share=0.5,
             prompt=333, output=33, cached_share=0.5, first_token_limit=1e-6, token_limit=1e-6, answer_limit=1e-6,
             late_share=1e-6, most_load=0.1, spare_replicas=9, usd_per_month=1, budget_usd=0.01, deadline_days=1e-3, window_hours=1, window_requests=10**9,
             images_per_day=10**9, training_tokens=10**12, epochs=3, sequence=1024, global_batch=256, gpus=8, lora_rank=128,
             recipe="fp32-adamw", runs=3, prompt_p95=2500, output_p95=800, prompt_chunk=256, tensor_parallel=2, attention_parallel=2,
             pipeline_parallel=2, prompts_apart=1, drafted=4, acceptance=0.9, preference_pairs=10**6, references=0, rollout_steps=500,
             prompts_per_step=16, group_size=4, output_limit=4000, critic=1, staleness=0, offloaded_states=0, engine="TensorRT-LLM",
             own_cards=1, gpus_per_server=4, usd_per_kwh=0.3, published_only=1, setup_hours=500, max_loras=64, turns=9, first_prompt=3000,
             turn_tokens=500, think_seconds=3000, host_cache_bytes=1e12)
# What stands beside an input that says nothing alone.
ADAPTERS = dict(max_loras=4, lora_rank=8)
SESSION = dict(turns=5, first_prompt=1000, turn_tokens=200, think_seconds=1, host_cache_bytes=0)
# Cards that the reader has, enough for each of these.
OWN = dict(cards="B200 SXM 180GB", own_cards=512, gpus_per_server=8, usd_per_kwh=0.1)
TAKEN = {job: [name for name in f"{row['needs']} {row['takes']}".replace("|", " ").split() if name not in ELSEWHERE]
         for job, row in rows("jobs").items() if row["kind"] != "own"}


@functools.cache
def told(job, **changes):
    """What an answer says: its choices, what they cost, the command that runs the best, and where the others stopped."""
    row = rows("jobs")[job]
    held = FULL[row["kind"]] | {"window_requests": 10**7} if job in ("batch", "embed") else FULL[row["kind"]]
    held |= {"images_per_day": 10**8} if job == "images" else {}
    held |= dict(preference_pairs=10**5, recipe="lora", deadline_days=0.5) if job == "dpo" else {}
    held |= dict(rollout_steps=50, output=1000, output_p95=3000, output_limit=8000, recipe="lora", deadline_days=0.5) if job == "grpo" else {}
    for one, other in (("requests_per_second", "daily_users"), ("window_requests", "images_per_day")):
        left = {other, "messages_per_day"} if one in changes else ()
        held = {name: value for name, value in held.items() if name not in left}
    held = {"job": job, "model": "Llama-3-8B", "cards": "H100 SXM 80GB, L40S 48GB"} | held | changes
    with patch.object(answer, "helping", return_value=[]):  # takes most of the time, and is not compared
        found = answer.answer(case_file.case_of({name: value for name, value in held.items() if name in ["job", *TAKEN[job]]}), BOOK)
    costs = [found.kept[f"{end}{found.objective}"].tolist() if found.best else [] for end in ("", "low_", "high_")]
    runs = [command.text for command in answer_words.told(found, BOOK).commands]
    return costs, found.figures, runs, sorted((gpu, lost.limit.of, lost.value, lost.most) for gpu, lost in found.lost.items())


@pytest.mark.parametrize("job, name", [(job, name) for job, names in TAKEN.items() for name in names])
def test_no_input_that_a_job_takes_is_ignored(job, name):
    value = "us-east-1" if name == "region" else dict(output=1500, output_p95=2500).get(name, OTHER[name]) if job == "grpo" else OTHER[name]
    tight = {"first_token_limit": 0.08} if name == "prompt_p95" else {}
    beside = ADAPTERS if name in ADAPTERS and job == "serve" else SESSION if name in SESSION else tight
    held = OWN if name in OWN else beside
    assert told(job, **held | {name: value}) != told(job, **held)


JOBS = {"serve": SERVE, "offline": BATCH, "embed": EMBED, "train": TRAIN, "lora": LORA}
SOME = "H100 SXM 80GB, L40S 48GB, B200 SXM 180GB, H200 SXM 141GB, A100 SXM 80GB, T4 16GB"
every_job = pytest.mark.parametrize("job", JOBS)


@functools.cache
def situation(job):
    """A job on some cards: the whole case, its kind, its market and its chain."""
    return asked(**JOBS[job], cards=SOME)


def best(case, kind, tables, chain):
    """The best choice of a market by the price and what tells it apart; None where there is none."""
    table = answer.ranked(rule.solve(chain, case, tables, answer.judged(case)), kind)
    return {name: column[0] for name, column in table.items()} if rule.count(table) else None


def objective(case, kind, tables, chain):
    found = rule.solve(chain, case, tables, answer.judged(case), ("plan",))["plan"].kept
    return found[jobs.JOBS[kind].objective].min() if rule.count(found) else math.inf


def named(choice, kind):
    return tuple(choice[name] for name in ("gpu", "gpus" if kind == "train" else "tensor_parallel", "provider", jobs.JOBS[kind].objective))


LIMITS = {"serve": dict(first_token_limit=(0.1, 2), token_limit=(0.01, 0.2), answer_limit=(3, 60), usd_per_month=(3e3, 1e5),
                        late_share=(0.01, 0.2), most_load=(0.4, 1)),
          "offline": dict(window_hours=(1, 48), budget_usd=(10, 1e4)), "embed": dict(window_hours=(1, 48), budget_usd=(10, 1e4)),
          "train": dict(deadline_days=(0.5, 40), budget_usd=(100, 3000)),
          "lora": dict(deadline_days=(0.05, 2), budget_usd=(5, 99))}
# Days of a window are paid to its end: more hours on fewer replicas are not always cheaper.
PAID = ("window_hours",)


@every_job
@settings(max_examples=8)
@given(data=st.data())
def test_a_looser_limit_costs_no_more(job, data):
    case, kind, tables, chain = situation(job)
    held = case.but(**{name: data.draw(st.floats(*ends), name) for name, ends in LIMITS[job].items()})
    name = data.draw(st.sampled_from([name for name in LIMITS[job] if name not in PAID]))
    value = held.inputs[name] * data.draw(st.floats(1, 3), "times")
    loose = held.but(**{name: min(value, 1) if name == "most_load" else value})
    assert objective(loose, kind, tables, chain) <= objective(held, kind, tables, chain) * (1 + 1e-9)


def with_rival(tables, gpu, better, price):
    """The market with one more card: a copy of this one, better in these columns so many times, at that share of its rents."""
    name, grown = "clusters" if "clusters" in tables else "cards", {}
    for table, changes in ((name, better), ("offers", {"usd_per_hour": price})):
        held, grown[table] = tables[table], {}
        copied = held["gpu"] == gpu
        for column, values in held.items():
            new = values[copied]
            if column in ("gpu", "kind"):
                new = np.array([f"better {each}" for each in new], object)
            new = new + len(values) if column == "offer" else new * changes[column] if column in changes else new
            grown[table][column] = np.concatenate([values, new])
    return tables | grown


@every_job
@settings(max_examples=6)
@given(data=st.data())
def test_a_better_and_cheaper_card_is_taken(job, data):
    """In memory, bandwidth, peaks and link; in servers of the same sizes. Then it costs no more in any choice of the other."""
    case, kind, tables, chain = situation(job)
    first = best(case, kind, tables, chain)
    gains = st.sampled_from([1, 1.01, 1.5, 4])
    columns = {name: data.draw(gains, name) for name in ("memory_bytes", "bandwidth", "peak_flops", "port_bandwidth")}
    columns |= {"narrow_flops": columns["peak_flops"], "outer_bandwidth": columns["port_bandwidth"]}
    grown = with_rival(tables, first["gpu"], columns, data.draw(st.floats(0.5, 0.999), "price"))
    assert best(case, kind, grown, chain)["gpu"] == f"better {first['gpu']}"
    solved = rule.solve(chain, case, grown, answer.judged(case))["plan"].kept
    keys = zip(solved["gpu"], solved["gpus" if kind == "train" else "tensor_parallel"], solved["offer"])
    costs = dict(zip(keys, solved[jobs.JOBS[kind].objective]))
    for (gpu, degree, _), cost in costs.items():
        if gpu == first["gpu"]:
            rivals = [usd for (name, each, _), usd in costs.items() if name == f"better {gpu}" and each == degree]
            assert min(rivals) < cost


@every_job
def test_the_order_of_a_market_changes_nothing(job):
    case, kind, tables, chain = situation(job)
    first, generator = best(case, kind, tables, chain), np.random.default_rng(1)
    for _ in range(3):
        mixed = {name: rule.taken(table, generator.permutation(len(table["gpu"]))) if "gpu" in table else table
                 for name, table in tables.items()}
        assert named(best(case, kind, mixed, chain), kind) == named(first, kind)


@every_job
def test_what_is_lost_changes_nothing(job):
    """Without the cards that are out, by the market or by the case, all that is left stands as before."""
    case, kind, tables, chain = situation(job)
    most = "usd_per_month" if kind == "serve" else "budget_usd"
    table = rule.solve(chain, case, tables, answer.judged(case))["plan"].kept
    tight = case.but(**{most: np.sort(table.get(f"sure_{jobs.JOBS[kind].objective}", table[jobs.JOBS[kind].objective]))[3]})
    solved = rule.solve(chain, tight, tables, answer.judged(tight))
    out = set(answer.nearest(solved["plan"], chain, tight))
    assert len(out) > 1 and len(kept_of(solved, kind)) >= 4
    left = {name: rule.taken(table, ~np.isin(table["gpu"], [*out])) if "gpu" in table else table
            for name, table in tables.items()}
    assert kept_of(rule.solve(chain, tight, left, answer.judged(tight)), kind) == kept_of(solved, kind)
    whole, _, tables_left, _ = asked(**JOBS[job], cards=", ".join(each for each in SOME.split(", ") if each not in out))
    assert named(best(tight.but(cards=whole.rows["cards"]), kind, tables_left, chain), kind) == named(
        best(tight, kind, tables, chain), kind)


@every_job
def test_the_best_offer_stays_so_for_less(job):
    case, kind, tables, chain = situation(job)
    first = best(case, kind, tables, chain)
    for share in (0.99, 0.5, 0.01):
        rates = np.where(tables["offers"]["offer"] == first["offer"], share, 1) * tables["offers"]["usd_per_hour"]
        cheaper = best(case, kind, tables | {"offers": tables["offers"] | {"usd_per_hour": rates}}, chain)
        assert cheaper["offer"] == first["offer"]
        assert cheaper[jobs.JOBS[kind].objective] == pytest.approx(first[jobs.JOBS[kind].objective] * share)


@every_job
@pytest.mark.parametrize("sure", [0.5, 0.8, 0.9])
def test_the_ends_lie_on_both_sides(job, sure):
    """Of every choice, where a number is sought as long as no more than nine in ten are asked for, which is the high end."""
    case, kind, tables, chain = situation(job)
    free = ("deadline_days",) if kind == "train" else ("first_token_limit", "token_limit") if kind == "serve" else ()
    held = case.but(sure=sure, **dict.fromkeys(free, math.inf))
    table = answer.ranked(rule.solve(chain, held, tables, answer.judged(held)), kind)
    low, plan, high = (table[f"{end}{jobs.JOBS[kind].objective}"] for end in ("low_", "", "high_"))
    assert len(plan) > 5 and (low <= plan * (1 + 1e-12)).all() and (plan <= high * (1 + 1e-12)).all()


@pytest.mark.parametrize("job", ["serve", "offline"])
def test_a_slow_request_is_a_low_rate(job):
    """At either end of the band a replica gives out what its requests take: batch x output / seconds (Little)."""
    case, _, tables, chain = situation(job)
    for solved in rule.solve(chain, case, tables, answer.judged(case)).values():
        table = solved.kept
        assert table["output_tokens_per_second"] == pytest.approx(
            table["batch"] * limit(case, "output") / table["request_seconds"], rel=1e-12)


EXTREMES = [
    *(SERVE | dict(requests_per_second=rate) for rate in (1e-3, 1e6)), SERVE | dict(prompt=1, output=1),
    SERVE | dict(usd_per_month=1),
    *(SERVE | {name: 1e-6} for name in ("first_token_limit", "token_limit", "answer_limit")), SERVE | dict(late_share=1),
    SERVE | dict(model="DeepSeek-V3", weight_format="BF16"), SERVE | dict(sure=0.95),
    *(BATCH | dict(window_requests=count) for count in (1, 10**12)), BATCH | dict(prompt=1, output=1), BATCH | dict(budget_usd=1),
    BATCH | dict(window_hours=1e-3), EMBED | dict(prompt=1), *(TRAIN | dict(training_tokens=count) for count in (1, 10**15)),
    TRAIN | dict(budget_usd=1), TRAIN | dict(deadline_days=1e-3), TRAIN | dict(gpus=1), TRAIN | dict(global_batch=1, sequence=1),
    LORA | dict(sequence=10**6), TRAIN | dict(model="DeepSeek-V3", gpus=8)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("given", EXTREMES, ids=range(len(EXTREMES)))
def test_an_extreme_case_has_an_answer(given):
    """Every card has a choice or a reason, and every figure is a number."""
    case, kind, tables, chain = asked(**given, cards=SOME)
    solved = rule.solve(chain, case, tables, answer.judged(case))
    table, lost = answer.ranked(solved, kind), answer.nearest(solved["plan"], chain, case)
    assert {*table.get("gpu", ()), *lost} == set(SOME.split(", "))
    assert not any(np.isnan(column).any() for column in table.values() if column.dtype.kind == "f")
    assert all(each.value > each.most >= 0 for each in lost.values())
    shown = answer.figures(case, table, solved, kind) if rule.count(table) else {}
    assert not any(math.isnan(value) for each in shown.values() for value in each[:3])


def test_documents_are_read_one_by_one():
    """A replica reads one document at a time, on all of its GPUs."""
    case, _, tables, chain = asked(**EMBED, cards="H100 SXM 80GB, L40S 48GB")
    kept = rule.solve(chain, case, tables, answer.judged(case), ("plan",))["plan"].kept
    assert len(kept["gpu"]) and set(kept["batch"]) == {1} and set(kept["attention_parallel"]) == {1}


def lists(table):
    return {name: column.tolist() for name, column in table.items()}


def test_rows_that_agree_are_joined_in_the_order_of_the_left():
    left = dict(gpu=np.array(["b", "a", "c", "b"], object), size=np.array([1, 2, 3, 4]))
    right = dict(gpu=np.array(["a", "b", "a"], object), usd=np.array([10.0, 20.0, 30.0]))
    assert lists(columns.joined(left, right, "gpu")) == dict(gpu=["b", "a", "a", "b"], size=[1, 2, 2, 4], usd=[20, 10, 30, 20])
    assert lists(columns.joined({}, right)) == lists(right)
    none = columns.joined(left, columns.taken(right, []), "gpu")
    assert columns.count(none) == 0 and list(none) == ["gpu", "size", "usd"]


def test_rows_are_of_one_kind_where_all_columns_agree():
    one, other = np.array(["x", "y", "x", "x", "y"], object), np.array([1, 1, 2, 1, 1])
    assert list(columns.kinds([one, other])) == [0, 1, 2, 0, 1] and list(columns.kinds([other])) == [0, 0, 1, 0, 0]
    # As many values as there are: 3 x 2 combinations that a sum of codes would mix up.
    assert list(columns.kinds([np.array([0, 1, 2, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 1])])) == [0, 1, 2, 3, 4, 5]


def test_tables_are_stacked_with_blanks_and_counted():
    table = dict(a=np.array([1.0, 2.0]), b=np.array([3.0, 4.0]))
    found = columns.stacked([table, {}, dict(a=np.array([5.0]))])
    assert found["a"].tolist() == [1, 2, 5] and found["b"].tolist()[:2] == [3, 4] and math.isnan(found["b"][2])
    assert (columns.count(found), columns.count({}), columns.row(table, 1)) == (3, 0, dict(a=2, b=4))
    assert lists(columns.taken(table, [1, 0, 1])) == dict(a=[2, 1, 2], b=[4, 3, 4])


def test_laws_take_the_numbers_that_they_know():
    table = dict(batch=np.array([1]), flag=np.array([True]), gpus=np.array([2.0]), colour=np.array([3.0]), name=np.array(["x"], object))
    assert list(columns.numbers(table)) == ["batch", "gpus", "colour"] and list(columns.known(table)) == ["batch", "gpus"]
    frame = pd.DataFrame(dict(gpus=[1, 2], reach=[8.0, math.nan], able=[True, False], name=["x", "y"]), pd.Index(["A", "B"], name="gpu"))
    assert lists(columns.of_frame(frame)) == dict(gpus=[1, 2], able=[1, 0], gpu=["A", "B"])
