"""Post-training against the published figures of the page."""
from book.components.measured import compare
from gpucalc.rows import bands


def test_published_steps_are_slower_by_a_factor_that_the_band_knows():
    found = compare("post_training")
    steps = found[found["law"] == "grpo_step_seconds"]
    ratio = steps["value"] / steps["predicted"]
    assert len(steps) >= 29 and 1.4 < ratio.median() < 2.2
    known = bands.errors("post-training step")
    assert known.sources >= 2 and known.low < ratio.median() < known.high
    assert ratio.between(known.low, known.high).mean() >= 0.8
