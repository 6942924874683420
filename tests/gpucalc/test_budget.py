"""What a budget buys: hand calculations, round trips through the plans that price a load, and what may never happen."""
import math


from gpucalc import Case, budget as bg, training_time as tt
from tests.close import close


def test_requests_from_an_api():
    # 5,000 USD at 0.0002 USD a request; a model that costs nothing sells without end.
    assert bg.affordable_requests_per_month(5000, 0.0002) == close(25e6)
    assert bg.affordable_requests_per_month(5000, 0) == math.inf


def test_whole_servers():
    # 8 GPUs at 2 USD are 11,680 USD a month: two for 25,000, each with two replicas of 3 GPUs or four of 2.
    assert bg.affordable_replicas(25_000, 2, 8, 3) == 4 and bg.affordable_replicas(25_000, 2, 8, 2) == 8
    assert bg.affordable_replicas(11_679, 2, 8, 1) == 0 and bg.affordable_replicas(11_680, 2, 8, 1) == 8


def test_where_the_first_server_begins_to_win():
    # A server of 1,000 USD carries 6 million requests, which an API sells for 1,200 USD at 0.0002, for 600 at half of that.
    assert bg.server_turn_usd_per_month(1000, 6e6, 0.0002) == close(1000)
    assert bg.server_turn_usd_per_month(1000, 6e6, 0.0001) == math.inf


def test_a_balanced_model():
    # 160 billion tokens for 8 billion parameters are 1.28e21 products: 8e9 parameters on 160e9 tokens, which is 20 each.
    assert bg.balanced_params(8e9, 160e9, 20) == close(8e9)
    # Four times the money, twice the parameters.
    assert bg.balanced_params(8e9, 640e9, 20) == close(16e9)


def test_chinchilla_comes_back():
    # Chinchilla: 70 billion parameters on 1.4 trillion tokens (arXiv 2203.15556).
    assert bg.balanced_params(70e9, 1.4e12) == close(70e9)


def test_expanding_four_bit_weights():
    # 7e9 weights of half a byte, written as two: 17.5 GB a pass, forward and backward 35 GB, at 3.5 TB/s 10 ms; again 15 ms.
    assert bg.dequantization_seconds(7e9, 0, 1, 3.5e12, 0.5) == close(0.010)
    assert bg.dequantization_seconds(7e9, 0, 1, 3.5e12, 0.5, 2) == close(0.015)
    # Weights as wide as the products take, and full training, expand nothing.
    assert bg.dequantization_seconds(7e9, 0, 1, 3.5e12, 2) == 0 == bg.dequantization_seconds(7e9, 0, 0, 3.5e12, 0)
    assert bg.tuning_step_seconds(2, 8, 0.01) == close(2.08)


def test_tokens_to_tune_on():
    # 100 USD at 2 USD an hour: 50 h; a step of 32,768 tokens each 4 s: 45,000 steps.
    assert bg.tuning_gpu_hours(100, 2) == close(50)
    assert bg.tuning_gpu_hours(1.5, 2, 1) == 0 and bg.tuning_gpu_hours(2, 2, 1) == 1
    assert bg.tuned_tokens(50, 4, 32_768) == close(45_000 * 32_768)


def test_servers_to_own():
    # 12 months of 25,000 USD: 300,000 USD.
    assert bg.affordable_servers(25_000, 12, 140_000) == 2 and bg.affordable_servers(25_000, 12, 300_001) == 0


def test_frozen_weights_cost_four_flop_a_parameter():
    case = Case(model="Llama-3-8B", step_tokens=2048, sequence=2048)
    lora, full = (case.but(recipe=recipe)(tt.step_flops) for recipe in ("lora", "mixed-adamw"))
    # Attention has no weights, so its six stay; the rest is two thirds.
    assert 2 / 3 < lora / full < 0.72
