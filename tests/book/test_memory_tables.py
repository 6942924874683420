"""Tables of training memory: layouts that divide the model, jobs that ran, and cards at the fewest that hold a job."""
import re

from book.components.memory import fewest_to_train, in_bytes, need, verdict
from book.pages.training_memory import fewest_table, logit_table, most_replicas, NEAR, near_table, on_fewest, split_table
from gpucalc import Case, training_memory as tm
from gpucalc.rows import catalogue

JOB = Case(model="Llama-3-8B", recipe="mixed-adamw", micro_batch=1, micro_batches=8, sequence=2048, recompute=2, flash_attention=1)


def rows(shown):
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", shown.source)[1:]]


def test_eight_gpus_in_each_way():
    shown = {row[0]: row for row in rows(split_table(JOB, "Eight"))}
    assert "expert parallel" not in shown and "pipeline, last stage" in shown
    alone, sharded = (JOB.but(micro_batches=16, **change)(tm.training_bytes) for change in ({}, dict(data_parallel=8, zero_stage=3)))
    assert shown["one GPU"][-1] == in_bytes(alone) and shown["ZeRO-3"][-1] == in_bytes(sharded)
    assert "expert parallel" in {row[0] for row in rows(split_table(JOB.but(model="Mixtral-8x22B"), "Eight"))}


def test_what_ran_fits_by_the_plan_value():
    for row, (gpu, inputs) in zip(rows(near_table("Near")), NEAR.values(), strict=True):
        band, memory = need(Case.of(inputs)), catalogue.gpu(gpu).memory_bytes
        assert band.plan < memory and row[1:3] == [gpu, in_bytes(band.plan)] and row[-1] == verdict(band, memory)
        assert row[-2].endswith("to spare")


def test_each_card_at_the_fewest_that_hold_it():
    case = JOB.but(zero_stage=3, loss_chunks=8)
    accounts, holding = on_fewest(case, "L4 24GB")
    assert list(accounts) == holding and len(accounts) == 8 and all(sum(terms.values()) <= 1 for terms in accounts.values())
    [fewest] = fewest_to_train(case, [catalogue.gpu("L4 24GB").memory_bytes])
    assert f"{fewest.plan} × L4 24GB" in accounts


def test_where_nothing_holds_it_most_replicas_are_shown():
    accounts, holding = on_fewest(JOB.but(zero_stage=0), "L4 24GB")
    assert f"{most_replicas(JOB):,} × L4 24GB" in accounts and len(holding) < len(accounts)
    assert sum(accounts["4,096 × L4 24GB"].values()) > 1 and most_replicas(JOB.but(expert_parallel=6)) == 4092


def test_ways_to_train_hold_the_plan_value():
    case = JOB.but(zero_stage=3)
    for gpu, _, count, planned, _ in rows(fewest_table(case, "For {:,} tokens", ("L4 24GB", "H100 SXM 80GB"))):
        band = need(case.but(data_parallel=int(count)))
        assert planned == in_bytes(band.plan) and band.plan <= catalogue.gpu(gpu).memory_bytes
        assert need(case.but(data_parallel=int(count) - 1)).plan > catalogue.gpu(gpu).memory_bytes


def test_tensors_of_the_loss_by_hand():
    """Logits in BF16, and three FP32 tensors beside them."""
    shown = rows(logit_table(JOB, "Logits"))
    assert [row[2] for row in shown[:2]] == [in_bytes(2048 * 128256 * 2), in_bytes(2048 * 128256 * 4)]
    assert shown[-1][2] == in_bytes(2048 * 128256 * 14)
