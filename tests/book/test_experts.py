"""What the page on mixtures of experts shows."""
import pytest

from book.pages.experts import familiar_mixtures, imbalance_table, mixtures, router_picture, spread_picture
from gpucalc import Case, model_size
from tests.gpucalc.test_experts import DEEPSEEK


def test_tables_hold_every_mixture_with_shares():
    frame = mixtures(64)
    assert {"DeepSeek-V3", "Mixtral-8x7B"} <= set(frame.index) and ((frame["used"] < frame["read"]) & (frame["read"] <= 1)).all()
    assert frame.loc["DeepSeek-V3", "read"] == pytest.approx(DEEPSEEK.but(batch=64)(model_size.read_params) / 671_026_419_200)
    assert len(familiar_mixtures(64)) <= 12 and "8 GPUs" in imbalance_table(DEEPSEEK).source


def test_pictures_say_their_numbers():
    case = Case(model="DeepSeek-V3", expert_parallel=8)
    assert "8 of 256 experts" in router_picture(case).plain and "32 of a layer on each" in spread_picture(case).plain
    assert router_picture(case).source.count('class="fill-a"') == 9  # a token and its experts
