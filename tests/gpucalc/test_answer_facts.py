"""The facts that the words of an answer name, each worked out by hand from a choice of a few columns."""
import math
from types import SimpleNamespace

import pytest

from gpucalc.core.evaluate import Case
from gpucalc.decisions import answer_words, engine_flags, owning_words
from gpucalc.decisions.answer import WIDE
from gpucalc.decisions.rent_own_or_api import API, OWNED, Way

SERVED = SimpleNamespace(kind="serve", objective="serving_usd_per_month")


def test_replicas_that_only_read_prompts_are_those_beyond_the_planned():
    choice = dict(rented_gpus=8, planned_replicas=2, replicas_required=1.5)
    facts = [answer_words.choice(SERVED, choice | dict(all_replicas=count)) for count in (2, 3)]
    assert [each.get("prefill_replicas") for each in facts] == [None, 1] and facts[0]["spare"] == 0.5


def test_what_interruptions_take_is_a_share_of_the_hours_paid():
    """Slowed to 5/4 of the time, a fifth of the hours is lost."""
    assert answer_words.choice(SERVED, dict(rented_gpus=8, interruption_slowdown=1.25))["lost_share"] == pytest.approx(0.2)


def test_gpus_servers_and_places_of_a_choice():
    facts = answer_words.choice(SERVED, dict(tensor_parallel=4, attention_parallel=2, pipeline_parallel=3, rented_gpus=48,
                                             gpus_per_server=8, replica_places=17.9, serving_usd_per_month=700, window_replicas=5))
    assert (facts["replica_gpus"], facts["expert_gpus"], facts["gpus"], facts["servers"]) == (24, 8, 48, 6)
    assert (facts["places"], facts["objective"], facts["planned_replicas"], facts["stale"], facts["yours"]) == (17, 700, 5, 0, 0)
    trained = SimpleNamespace(kind="train", objective="compute_usd")
    run = dict(gpus=64, tensor_parallel=4, pipeline_parallel=2, context_parallel=2)
    assert answer_words.choice(trained, run)["data_parallel"] == 4
    assert answer_words.choice(trained, run | dict(trainer_share=0.5))["data_parallel"] == 2


def ways(api, own, level, cheaper, sure):
    rows = [Way(name, usd, usd, usd, "Acme", doubt, "row") for name, usd, doubt in (
        (API, api, ""), (OWNED, own, ""), (API, 1, "rumour")) if usd]
    verdict = SimpleNamespace(cheaper=cheaper, sure=sure)
    owning = SimpleNamespace(deal=SimpleNamespace(likely={"years": 4}), verdict=verdict)
    return SimpleNamespace(rows=rows, below=None, turn=None, level=level, owning=owning)


@pytest.mark.parametrize("api, own, level, cheaper, rent, way", [
    (99, None, None, "", 100, "api"), (100, None, None, "", 100, "rent"), (101, None, None, "", 100, "rent"),
    (None, 80, 90, "owning", 100, "own"), (None, 80, 90, "renting", 100, "rent"),
    # Servers of one's own at 80 beside a rent of 90 over the same years are 88.9 beside today's 100: an API has to be below.
    (88, 80, 90, "owning", 100, "api"), (89, 80, 90, "owning", 100, "own"), (89, 80, 90, "renting", 100, "api"),
    # Where owning costs more than today's rent, that is what an API has to be below.
    (105, 120, 100, "owning", 100, "own"), (99, 120, 100, "owning", 100, "api")])
def test_an_api_is_the_cheapest_way_only_below_renting_and_owning(api, own, level, cheaper, rent, way):
    assert answer_words._of_ways(ways(api, own, level, cheaper, True), rent)["way"] == way


def test_without_other_ways_nothing_is_said_of_them():
    assert answer_words._of_ways(None, 100) == {}
    doubted = SimpleNamespace(rows=[Way(API, 1, 1, 1, "Acme", "rumour", "row")], below=3, turn=9, level=None, owning=None)
    assert answer_words._of_ways(doubted, 100) == {"api_below": 3, "api_turn": 9}


def beside(row, best=None):
    same = dict(gpu="H100 SXM 80GB", gpus=8, objective=100, high_objective=120, low_objective=90)
    return answer_words.against(same | row, same | (best or {}), "train")


def test_a_choice_ties_where_its_band_reaches_the_best_unless_it_is_the_same_gpus():
    assert [beside(dict(gpu="L4 24GB", low_objective=low))["tie"] for low in (119, 120, 121)] == [1, 0, 0]
    assert beside(dict(gpus=9))["tie"] == 1 and beside(dict(objective=110))["tie"] == 0
    told = beside(dict(gpus=9, objective=150))
    assert (told["ratio"], told["more"], told["best_high"]) == (1.5, 0.5, 120)


def test_a_band_is_wide_above_so_many_times_its_plan():
    assert [beside(dict(high_objective=times * 100))["wide"] for times in (WIDE, WIDE + 0.5)] == [0, 1]


def test_a_change_is_worth_a_word_from_its_share_on(monkeypatch):
    monkeypatch.setattr(answer_words, "WORTH", 0.25)
    changes = [SimpleNamespace(change=SimpleNamespace(name=name), after=after) for name, after in (
        ("prompt", 75), ("output", 76), ("term", 10), ("sure", 0))]
    planned = SimpleNamespace(best={"usd": 100}, objective="usd", helps=changes)
    assert [each.change.name for each in answer_words.helps(planned)] == ["prompt", "sure"]
    assert [each.change.name for each in answer_words.helps(SimpleNamespace(best=None, objective="usd", helps=changes))] == [
        "prompt", "output", "term", "sure"]


@pytest.mark.parametrize("given", [dict(best=None), dict(kind="train"), dict(known={"engine": "llama.cpp", "attention_parallel": 2}),
                                   dict(known={"engine": "TensorRT-LLM", "kind": "embed"})])
def test_no_command_is_told_without_a_plan_that_the_engine_runs(given):
    held = dict(best={}, kind="serve", known={}) | given
    assert answer_words.commands(SimpleNamespace(best=held["best"], kind=held["kind"]), held["known"]) == []


def command(**facts):
    served = SimpleNamespace(case=Case(model="Llama-3-8B"))
    return engine_flags.known(served, dict(model="Llama-3-8B") | facts)


def test_the_tokens_of_a_step_are_a_chunk_and_each_sequence_with_its_drafts():
    """64 sequences in 2 groups are 32 each, of 1 token and 3 drafted ones; 65 are 33."""
    assert command(batch=64, attention_parallel=2, prompt_chunk=512, drafted=3)["step_tokens"] == 512 + 32 * 4
    # Without a chunk of one's own it is the one that is planned with: the engine's.
    assert command(batch=64, attention_parallel=2)["step_tokens"] == Case(engine="vLLM", prompt=1, cached_share=0, steady_chunk=1e6, held_passes=1)(
        "mixed_tokens") + 32 == 8192 + 32
    found = command(batch=65, attention_parallel=2, prompt_chunk=0, drafted=0)
    assert (found["rank_batch"], found["step_tokens"]) == (33, 33)


@pytest.mark.parametrize("tensor, pipeline, groups, server, local, servers", [
    (8, 1, 1, 8, 1, 1), (8, 2, 1, 8, 1, 2), (8, 1, 1, 4, 1, 2), (2, 1, 4, 8, 4, 1), (2, 1, 4, 6, 3, 2)])
def test_groups_on_a_server_and_servers_of_a_replica(tensor, pipeline, groups, server, local, servers):
    found = command(tensor_parallel=tensor, pipeline_parallel=pipeline, attention_parallel=groups, gpus_per_server=server)
    assert (found["local_groups"], found["replica_servers"]) == (local, servers)


def test_what_turns_rent_or_buy_are_inputs_of_the_job_that_have_such_a_value():
    found = SimpleNamespace(turns={"utilization": 0.5, "years": math.nan, "discount_rate": 0.1})
    [(name, value, text)] = owning_words.turning(found, ["utilization", "years"])
    assert (name, value) == ("utilization", 0.5) and "50 %" in text
