"""The texts of an answer are plain data whose fields, forms and conditions can be filled, and no sentence shows its template."""
import json
import re

import pytest

from gpucalc.core import figures
from gpucalc.decisions import answer_words
from gpucalc.decisions.answer_texts import BARS, CAUTIONS, NOUNS, PAGE, PARTS, TEXTS, TITLES, WHY, WORDS
from gpucalc.decisions.answer_words import FORMS, fill
from gpucalc.decisions.jobs import JOBS
from gpucalc.rows import texts

ALL = TEXTS | PAGE
FIELD = re.compile(r"{([^}]*)}")
CONDITION = re.compile(r"\w+ (known|unknown|[=!<>]{1,2} (@\w+|[\w.-]+))( & \w+ (known|unknown|[=!<>]{1,2} (@\w+|[\w.-]+)))*")


def templates():
    for text in ALL.values():
        yield from [("", text)] if isinstance(text, str) else text


def test_a_template_has_fields_and_conditions_that_can_be_filled():
    for condition, template in templates():
        assert not condition or CONDITION.fullmatch(condition), template
        for field in FIELD.findall(template):
            fact, _, form = field.partition(":")
            assert re.fullmatch(r"\w+(-\w+)?", fact), template
            assert not form or form in (*FORMS, *NOUNS, *WORDS, "text") or form in figures.UNITS, template
            assert form != "text" or fact in ALL, template
        assert re.sub(FIELD, "", template).count("{") == 0 and "  " not in template, template


def test_the_data_is_plain():
    """What the browser gets is what JSON can hold."""
    held = dict(texts=ALL, parts=PARTS, nouns=NOUNS, words=WORDS, titles=TITLES, why=WHY, bars=BARS, cautions=CAUTIONS)
    assert json.loads(json.dumps(held))["titles"] == TITLES


def test_every_choice_among_templates_says_something_in_any_case():
    """The last of a list has no condition, unless all that hold are said."""
    assert [name for name, text in ALL.items() if not isinstance(text, str) and name not in PARTS and text[-1][0]] == ["limits", "allowed"]
    assert set(PARTS) <= set(ALL)


def test_every_limit_and_every_card_has_its_words():
    reasons = {limit.of for job in JOBS.values() for step in job.chain for limit in step.limits}
    assert {f"lost_{name}" for name in reasons} <= set(TEXTS)
    for name in ("limits", "allowed"):
        assert {condition.removeprefix("limit = ") for condition, _ in TEXTS[name]} == {
            limit for limits in (job.free for job in JOBS.values()) for limit in limits}
    for kind in JOBS:
        assert all(answer_words._of_kind(f"{part}_{card}", kind) in TEXTS for card in TITLES for part in ("big", "small", "note"))
        assert set(WHY[kind]) == set(TITLES)


@pytest.mark.parametrize(("facts", "said"), [
    (dict(replica_gpus=1, planned_replicas=1), "one replica"),
    (dict(replica_gpus=1, planned_replicas=3), "3 replicas of one GPU each"),
    (dict(replica_gpus=4, tensor_parallel=4, planned_replicas=1), "one replica over 4 GPUs, tensor parallel 4"),
    (dict(replica_gpus=2.0, tensor_parallel=2.0, planned_replicas=12.0), "12 replicas of 2 GPUs, tensor parallel 2"),
    (dict(replica_gpus=16, tensor_parallel=1, attention_parallel=16, expert_gpus=16, planned_replicas=2),
     "2 replicas of 16 GPUs, attention on 16 data-parallel groups, experts spread over 16 GPUs"),
    (dict(replica_gpus=8, tensor_parallel=8, prefill_replicas=6, planned_replicas=4),
     "6 prefill and 4 decode replicas of 8 GPUs, tensor parallel 8"),
])
def test_one_and_many(facts, said):
    assert fill("layout_serve", facts) == said


@pytest.mark.parametrize(("facts", "said"), [
    (dict(more=0, ratio=1), "costs the same"), (dict(more=0.001, ratio=1.001), "costs hardly more"),
    (dict(more=0.14, ratio=1.14), "costs 14 % more"), (dict(more=0.14, ratio=1.14, tie=1), "costs 14 % more, too close to call"),
    (dict(more=1.87, ratio=2.87, tie=1, unmeasured=1),
     "costs 2.87 times as much, but no engine was measured on it, so that it may cost as little"),
    (dict(more=1.5, ratio=2.5), "costs 2.50 times as much"),
    (dict(more=0.14, ratio=1.14, tie=0, best_high=10.0), "costs 14 % more, and in the slowest tenth of cases it misses a limit"),
])
def test_what_a_choice_costs_beside_the_best(facts, said):
    assert fill("later", facts) == said


HELD = dict(memory_bytes=25.8e9, gpus_per_server=2, server_bytes=51.5e9, replica_bytes=51.5e9)
SMALL, LARGE = HELD | dict(weights=16e9), HELD | dict(weights=65.2e9)


@pytest.mark.parametrize(("name", "facts", "said"), [
    ("lost_time_to_first_token", dict(value=1.9, most=1.0), "first token after 1.90 s, over the limit of 1 s"),
    ("lost_time_to_first_token", dict(most=1.0), "once requests queue, no first token is within the limit of 1 s"),
    ("lost_training_days", dict(value=40.0, most=1.0), "40 days, over the limit of 1 day"),
    ("lost_tensor_parallel", dict(SMALL, value=8.0, most=1.0, replica_gpus=8), "a replica needs 8 GPUs in one server, but it is offered one at a time"),
    ("lost_tensor_parallel", dict(SMALL, value=8.0, most=4.0, replica_gpus=8), "a replica needs 8 GPUs in one server, but a server has 4"),
    ("lost_tensor_parallel", dict(LARGE, value=2.0, most=1.0, replica_gpus=4),
     "the weights take 65.2 GB, and a server of 2 GPUs holds 51.5 GB: a replica needs 4 GPUs, 2 of them in one server, but it is offered one at a time"),
    ("lost_server_misfits", dict(LARGE, replica_gpus=4), "the weights take 65.2 GB, and a server of 2 GPUs holds 51.5 GB: a replica needs 4 GPUs, and no network joins its servers of 2"),
    ("lost_server_misfits", dict(SMALL, replica_gpus=4), "a replica needs 4 GPUs, and no network joins its servers of 2"),
    ("lost_batch", dict(LARGE, replica_gpus=1), "the weights take 65.2 GB; with one sequence and the workspace of the engine that is more than its 25.8 GB"),
    ("lost_batch", dict(LARGE, replica_gpus=2), "the weights take 65.2 GB; with one sequence and the workspace of the engine that is more than the 51.5 GB of 2 GPUs"),
    ("lost_lacks_format", dict(weight_format="FP8"), "no engine path for FP8 weights"),
])
def test_why_a_gpu_is_out(name, facts, said):
    assert fill(name, facts) == said


def test_a_range_says_its_unit_once():
    assert fill("small_fits", dict(fits_low=1e9, fits_high=2e9)) == "8 in 10 between 1 and 2 GB"
    assert fill("small_fits", dict(fits_low=9e8, fits_high=2e9)) == "8 in 10 between 900 MB and 2 GB"
    assert fill("small_fits", dict(fits_low=1e9, fits_high=1e9)) == "the same in 8 of 10 cases"
    assert fill("small_fits", dict(fits_low=1e9)) == "from 1 GB; in the slowest tenth of cases a limit is missed"


def test_facts_are_never_templates():
    """What stands in a price file is put in as it is, whatever it looks like."""
    known = dict(gpu="{provider}", provider="{gpu:text} & <b>", turn=1.0, usd_per_hour=2.0, close=0)
    assert fill("flip_rent", known) == "{provider} would win below 1.00 USD/h for a GPU; {gpu:text} & <b> asks 2.00 USD/h"


def test_a_fact_that_is_not_there():
    with pytest.raises(KeyError, match="turn"):
        fill("flip_rent", dict(gpu="a", provider="b"))
    with pytest.raises(KeyError, match="nothing"):
        fill("nothing", {})


@pytest.mark.parametrize("held, said", [
    ({"late": 3}, "answers.yaml, late: 3; allowed: a text, or a list of texts under `say`, with conditions under `when`"),
    ({"late": []}, "answers.yaml, late: []; allowed: a text, or a list"),
    ({"late": [{"when": "gpus > 1"}]}, "answers.yaml, late: {'when': 'gpus > 1'}; allowed: `say` with a text, and `when` with a condition"),
    ({"late": [{"say": "so", "if": ""}]}, "allowed: `say` with a text, and `when`"),
    ({"late": [{"say": 3}]}, "answers.yaml, late: {'say': 3}"),
])
def test_what_is_no_text_is_refused_by_its_name(held, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        texts.conditional("answers", held)


@pytest.mark.parametrize("text, said", [("- a\n", "answers.yaml: list; allowed: sections of texts by name"),
                                        ("texts: [\n", "answers.yaml: while parsing"),
                                        ("", "answers.yaml: NoneType; allowed: sections")])
def test_a_file_of_texts_that_cannot_be_read_is_named(tmp_path, monkeypatch, text, said):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/answers.yaml").write_text(text)
    monkeypatch.setattr(texts, "DATA", tmp_path)
    with pytest.raises(ValueError, match=said):
        texts.read_texts("answers")
