"""Prompts and answers apart, against hand calculations and published figures."""
import pytest
from hypothesis import given, strategies as st

from gpucalc import Case, apart as ap, kv_cache as kv, serving as sv, serving_layouts as sl
from gpucalc.rows import catalogue

H100 = catalogue.gpu("H100 SXM 80GB")
CHAT = Case(model="Llama-3-70B", gpu=H100, link=catalogue.link(H100.link), efficiency="achieved", weight_format="FP8",
            tensor_parallel=4, batch=32, prompt=4000, output=300, context="prompt", network_bandwidth=50e9, prompt_chunk=0)


def test_what_prompts_add_by_hand():
    # 31 others, each a prompt of 0.25 s in the time of 300 tokens.
    assert ap.disturbed_seconds(32, 300, 0.25) == pytest.approx(31 * 0.25 / 300)
    assert ap.disturbed_seconds(1, 300, 0.25) == 0


@given(st.integers(1, 256), st.integers(10, 5000))
def test_a_token_is_its_own_pass_and_the_prompts_of_others(batch, output):
    case = CHAT.but(batch=batch, output=output)
    own, added = case(sv.replica_pass_seconds), case(ap.disturbed_seconds)
    assert case(sv.time_per_output_token) == pytest.approx(own + added)
    assert case.but(prompts_apart=1)(sv.time_per_output_token) == pytest.approx(own)


def test_waits_are_even_where_it_says():
    length = CHAT(ap.even_output)
    assert ap.even_output(32, 0.25, 0.0125) == 620
    even = CHAT.but(output=round(length))
    assert even(ap.disturbed_seconds) == pytest.approx(even(sv.replica_pass_seconds), rel=2e-3)


def test_servers_of_each_kind_as_distserve_counts_them():
    """DistServe (arXiv 2401.09670, figure 1; recalled): a GPU reads 5.6 requests a second or writes 10, so two for each."""
    assert ap.prompt_ratio(batch=10, output=1, prompt_turn_seconds=1 / 5.6, speculative_seconds=1) == pytest.approx(10 / 5.6)
    ratio, rate = CHAT(ap.prompt_ratio), 32 / (300 * CHAT(sv.replica_pass_seconds))
    assert ratio * 1 / CHAT(sl.prompt_turn_seconds) == pytest.approx(rate), "as many prompts are read as answers end"


def test_a_cache_on_its_way():
    """DistServe (arXiv 2401.09670, section 3.3; recalled): OPT-66B keeps about 1.13 GiB for 512 tokens, 64 layers of 9,216 in FP16."""
    opt = dict(kv_bytes_per_token=2 * 64 * 9216 * 2, prompt=512, cached_layers=64, cached_windows=0, recurrent_bytes=0,
               index_bytes_per_token=0)
    assert sl.prompt_kv_bytes(**opt) / 2**30 == pytest.approx(1.13, abs=0.01)
    split = CHAT.but(prompts_apart=1)
    assert split(sl.prompt_kv_bytes) == 4000 * CHAT(kv.kv_bytes_per_token) == 4000 * 327_680
    assert split(sl.cache_sent_seconds) == pytest.approx(4000 * 327_680 / 4 / (50e9 * 0.96), rel=0.01)
