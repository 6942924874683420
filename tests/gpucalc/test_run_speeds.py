"""The MFU that runs are planned with is that of published runs, and how far off it was."""
import numpy as np
import pytest

from gpucalc.decisions import run_speeds
from gpucalc.decisions.run_speeds import chip, mfu_by_chip, mfu_ends, mfu_off, planned_mfu, published_mfu
from gpucalc.rows import bands, catalogue


def test_a_published_run_reached_its_mfu():
    # Llama 2 70B (arXiv 2307.09288, table 2): 42.8 %, as in test_training_cost; DeepSeek-V3 ran on the H100's chip.
    runs = published_mfu().query("family == 'training run'")
    assert len(runs) == 16 and runs["publisher"].nunique() > 8 and runs["mfu"].between(0.13, 0.52).all()
    assert np.isclose(runs["mfu"], 0.4284, atol=1e-3).any()
    assert (published_mfu()["mfu"] < 1).all(), "steps in 8 bits are of the peak of 8 bits"


def test_cards_of_one_chip_count_together():
    gpus = catalogue.gpus()
    assert len({chip(gpus.loc[name]) for name in ("H100 SXM 80GB", "H800 SXM 80GB", "H200 SXM 141GB")}) == 1
    assert len({chip(gpus.loc[name]) for name in ("A100 SXM 40GB", "A100 SXM 80GB", "H100 PCIe 80GB", "H100 SXM 80GB")}) == 3


def test_a_gpu_is_planned_with_the_runs_of_its_chip_or_of_all_with_a_wider_band():
    plan = planned_mfu()
    h100, b200, h200 = (plan.loc[name] for name in ("H100 SXM 80GB", "B200 SXM 180GB", "H200 SXM 141GB"))
    assert h100.of == "its chip" and h200.plan == h100.plan == mfu_by_chip().loc[h100.chip, "median"]
    assert b200.of == "all runs" and b200.chip not in set(mfu_by_chip().query("runs > 0").index)
    assert b200.plan / b200.low > h100.plan / h100.low and b200.high / b200.plan > h100.high / h100.plan
    spread = bands.errors("training run")
    assert h100.plan / h100.low == pytest.approx(spread.high / spread.median)
    assert (plan["low"] < plan["plan"]).all() and (plan["plan"] < plan["high"]).all() and (plan["high"] <= 1).all()


def test_the_median_weighs_publishers():
    rows = published_mfu().query("family == 'training run'").head(4).assign(publisher=["a", "a", "a", "b"], mfu=[0.1, 0.2, 0.4, 0.8])
    assert run_speeds._median(rows) == pytest.approx(0.4)


def test_a_run_is_off_about_as_far_from_its_chip_as_from_all():
    by_all, by_chip = mfu_off()
    assert 0.1 < by_chip < 0.5 and abs(by_all - by_chip) < 0.1


def test_a_share_that_is_given_overrules():
    assert mfu_ends("H100 SXM 80GB", 0.4) == dict(low=0.4, plan=0.4, high=0.4)
    assert mfu_ends("H100 SXM 80GB") == planned_mfu().loc["H100 SXM 80GB", ["low", "plan", "high"]].to_dict()
