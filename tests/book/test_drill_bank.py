"""The bank of drills: how many there are and of what kind, what they say, and some of them worked by hand."""
import math
import re
from collections import Counter
from functools import cache

import pytest

from book.web.drills import blanks, chains, drill, drills, LEVELS, MET, near, off, weights, WITHIN
from gpucalc.core.evaluate import FINDERS
from gpucalc.core.quantities import QUANTITIES
from tests.book.test_lessons import LESSONS
from tests.book.test_notebooks import FIGURE, names_in_data
from tests.each import of_each

BANK = drills()
each_drill = of_each([*BANK])
NAMED = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names_in_data()))})(?!\w)")
# How the calendar and a rule of thumb count, which no blank gives.
CONSTANTS = {"24 hours", "30 days", "720 hours", "730 hours", "8,760 hours", "24 FLOP"}
BLANK = re.compile(r"\{(\w+)(?::\w+)?\}")


@cache
def worked(name):
    """The cases of a drill, each with the right answer and those of the wrong turns."""
    cases = map(BANK[name].case, BANK[name].choices())
    return [(case, BANK[name].answer(case), BANK[name].mistaken(case)) for case in cases]


def texts(name):
    return [BANK[name].ask, *filter(None, [BANK[name].recall]), BANK[name].hint, *(turn.say for turn in BANK[name].wrong)]


# How many

def test_there_are_enough_of_each_level():
    levels = Counter(one.level for one in BANK.values())
    assert len(BANK) >= 130 and set(levels) == set(LEVELS) and min(levels.values()) >= 40, levels


def test_every_lesson_has_some_and_every_topic_is_a_lesson():
    topics = Counter(one.topic for one in BANK.values())
    assert set(topics) == {*LESSONS, "what_changed", "what_to_buy"}
    assert {page: count for page, count in topics.items() if count < 3} == {}


def test_every_lesson_but_the_shortest_goes_from_one_step_to_several():
    levels = {page: {one.level for one in drills(page).values()} for page in LESSONS}
    assert {page for page, found in levels.items() if not {2, 3} <= found} <= {"kv_cache"}
    assert sum(found == {1, 2, 3} for found in levels.values()) >= 14


# From memory

# What one should know of a model, a card or a link, so that a question from memory may not say it.
KNOWN = {"layers", "heads", "kv_heads", "head_dim", "hidden", "vocab", "params", "active_params", "lookup_params", "kv_bytes_per_token", "experts",
         "experts_per_token", "expert_params", "moe_layers", "peak_flops", "bandwidth", "memory_bytes", "link_bandwidth", "weight_bytes"}
RECALLED = [name for name, one in BANK.items() if one.recall]


@of_each(RECALLED)
def test_a_question_from_memory_hides_what_one_should_know(name):
    one = BANK[name]
    asked, hidden = ({blank for blank, _ in blanks(text)} for text in (one.recall, one.ask))
    assert not asked & KNOWN and asked - {*FINDERS} <= hidden and set(one.draw) - {"recipe"} <= asked
    assert hidden & KNOWN or "by heart" in one.ask or "data sheet" in one.ask, "nothing is hidden"
    case = one.case(next(one.choices()))
    assert "{" not in one.asked(case, recalled=True) and one.asked(case, recalled=True).endswith("?")
    assert one.judged(case, 1.9 * one.answer(case), recalled=True)[0] and not one.judged(case, 2.1 * one.answer(case), recalled=True)[0]


def test_chains_are_three_drills_that_can_be_on_one_system():
    assert len(RECALLED) >= 24 and {name for chain in chains().values() for name in chain} == set(RECALLED)
    for title, chain in chains().items():
        assert len(chain) == 3, title
        drawn = [BANK[name].draw for name in chain]
        shared = [kind for kind in ("model", "gpu") if all(kind in draw for draw in drawn)]
        assert shared and all(draw[kind] == drawn[0][kind] for kind in shared for draw in drawn), title
    assert min(weights().values()) >= 1 and weights()["serving"] > weights()["commitments"]


# What they ask

@each_drill
def test_every_way_to_fill_it_has_a_positive_answer(name):
    assert len(worked(name)) >= 6
    assert [case for case, right, _ in worked(name) if not 0 < right < math.inf] == []


@each_drill
def test_its_wrong_turns_go_wrong_and_are_recognised(name):
    """In most of the ways to fill it; a unit's or a month's few percent are seen where they are met exactly."""
    one = BANK[name]
    assert 2 <= len(one.wrong) <= 4 and len({turn.say for turn in one.wrong}) == len(one.wrong)
    for place, turn in enumerate(one.wrong):
        small = turn.unit in ("GiB", "MiB", "KiB") or abs(turn.times - 1) < WITHIN and turn.times != 1
        apart = [off(values[place], right) > MET / 2 if small else not near(values[place], right, one.order)
                 for _, right, values in worked(name)]
        some = worked(name)[::max(len(worked(name)) // 6, 1)]
        seen = [one.judged(case, values[place])[1] == place for case, _, values in some]
        assert sum(apart) > len(apart) / 2 and sum(seen) >= 0.75 * len(seen), turn.say


@each_drill
def test_the_question_names_what_is_drawn(name):
    one = BANK[name]
    asked = set(BLANK.findall(one.ask))
    assert {drawn for drawn in one.draw if drawn not in FINDERS} <= asked
    assert asked <= {*QUANTITIES, *FINDERS}


@each_drill
def test_it_is_said_in_plain_sentences(name):
    one = BANK[name]
    filled = [one.asked(case) for case, *_ in worked(name)]
    assert max(len(text.split()) for text in filled) <= 75 and not any("{" in text or "nan" in text.split() for text in filled)
    for text in texts(name):
        assert text[0].isupper() or text[0] == "{" and text.rstrip()[-1] in ".?", text
        assert text.endswith((".", "?")) and "  " not in text and ";" not in text, text
    for turn in one.wrong:
        assert 1 <= len(re.findall(r"[.?](?:\s|$)", turn.say)) <= 3 and len(turn.say) <= 130, turn.say


@each_drill
def test_no_figure_with_a_unit_is_typed(name):
    for text in texts(name):
        rest = NAMED.sub(" ", BLANK.sub(" ", text))
        assert {found[0].strip() for found in FIGURE.finditer(rest)} <= CONSTANTS, text


def test_what_is_said_to_a_wrong_turn_is_its_own():
    """Some are worth saying again in other drills, but not often."""
    said = Counter(turn.say for one in BANK.values() for turn in one.wrong)
    assert len(said) >= 0.8 * said.total() and max(said.values()) <= 6, said.most_common(5)


# By hand

def month(rate):
    return rate / (730 * 3600)


def annuity(rate, payments):
    return rate / (1 - (1 + rate) ** -payments)


@pytest.mark.parametrize("name, drawn, expected", [
    ("size-weights", dict(model="Llama-3-70B", weight_element_bytes=2), 70_553_706_496 * 2 / 1e9),
    ("size-mlp", dict(model="Llama-3-8B"), 3 * 4096 * 14336 / 1e6),
    ("size-attention", dict(model="Llama-3-70B"), (2 * 8192 * 8192 + 2 * 8192 * 8 * 128) / 1e6),
    ("roofline-ridge", dict(gpu="H100 SXM 80GB"), 989 / 3.35),
    ("memory-state", dict(model="Llama-3-70B", recipe="mixed-adamw"), 70_553_706_496 * (2 + 2 + 4 + 8) / 1e9),
    ("link-all-reduce", dict(ranks=8, message_bytes=1e9, link_bandwidth=450e9), 2 * 7 / 8 * 1e9 / 450e9 * 1e3),
    ("experts-touched", dict(model="DeepSeek-V3", batch=32), 256 * (1 - (1 - 8 / 256) ** 32)),
    # 114 requests a second stay 18.5 s each, 32 to a replica.
    ("serve-month", dict(requests_per_month=1e8, peak_factor=3, output=600, batch=32),
     math.floor(month(1e8 * 3) * (0.5 + 600 * 0.03) / 32) + 1),
    ("time-days", dict(model="Llama-3-70B", gpu="H100 SXM 80GB", gpus=512, training_tokens=1e12, mfu=0.4),
     6 * 70_553_706_496 * 1e12 / (989e12 * 0.4 * 512 * 86400)),
    ("layout-bubble", dict(gpus=1024, tensor_parallel=8, pipeline_parallel=8, global_batch=512), 100 * 7 / (32 + 7)),
    ("tuning-dpo-run", dict(model="Llama-3-8B", preference_pairs=20000, sequence=1024),
     8 * 8_030_261_248 * 2 * 20000 * 1024 * 2 / 1e18),
    ("own-used", dict(bought_usd=280000, years=3, utilization=0.4, power_usd_per_hour=0.15),
     280000 / (8 * 8760 * 3) / 0.4 + 0.15),
    ("run-checkpoint", dict(interruption_seconds=20000, checkpoint_seconds=60), math.sqrt(2 * 60 * 20000)),
    ("token-turn", dict(rented_gpus=8, usd_per_hour=2, api_input_usd_per_million=0.5, api_output_usd_per_million=3, prompt=1000,
                        output=500), 8 * 2 * 730 / ((1000 * 0.5 + 500 * 3) / 1e6)),
    ("lease-loan", dict(bought_usd=250000, loan_rate=0.12, loan_months=48, loan_share=0.8), 200000 * annuity(0.01, 48)),
    ("bill-copy", dict(corpus_bytes=1e13, usd_per_gb=0.08, copy_usd_per_gb_month=0.02, months=1, gpu_hours=100, home_usd_per_hour=5,
                       usd_per_hour=2.5), (800 + 200) / (100 * 2.5)),
    ("reserve-cost", dict(peak_gpus=72, trough_gpus=8, committed_usd_per_hour=2, flexible_usd_per_hour=4), 40 * 2 + 8 * 4),
    ("slice-right-size", dict(gpus=32, usd_per_hour=2, measured_utilization=0.3, target_utilization=0.6), 16 * 2 * 730),
])
def test_worked_by_hand(name, drawn, expected):
    one = drill(name)
    assert drawn in one.choices(), "one of the ways to fill it"
    assert one.answer(one.case(drawn)) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name, drawn, said, turn", [
    ("memory-state", dict(model="Llama-3-70B", recipe="mixed-adamw"), 846.6, "master weights"),
    ("roofline-ridge", dict(gpu="H100 SXM 80GB"), 590, "sparse peak"),
    ("link-send", dict(link="NVLink 4", message_bytes=1e9), 1.11, "both directions"),
    ("link-network", dict(network_bandwidth=50e9, prompt_kv_bytes=1e9), 160, "multiplied by eight"),
    ("experts-memory", dict(model="DeepSeek-V3", weight_element_bytes=1), 37.6, "one token"),
    ("time-flops", dict(model="Llama-3-8B", training_tokens=1e12), 16.1, "forward pass alone"),
    ("token-month", dict(rented_gpus=8, usd_per_hour=2), 11520, "month of 30 days"),
    ("token-request", dict(requests_per_month=1e6, prompt=1000, output=500, api_input_usd_per_million=1,
                           api_output_usd_per_million=4), 1500, "at the prompt's price"),
    ("serve-limit", dict(model="Llama-3-70B", gpu="H200 SXM 141GB", replica_gpus=4, context=8192), 18, "query heads"),
])
def test_a_usual_mistake_is_named(name, drawn, said, turn):
    one = drill(name)
    case = one.case(drawn)
    place = one.judged(case, said)[1]
    assert place is not None and turn in one.wrong[place].say
