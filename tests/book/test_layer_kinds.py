"""Models of several kinds of layers, in words and as a table."""
import pytest

from book.pages.kv_cache import kinds, kinds_table
from gpucalc import Case, kv_cache
from gpucalc.rows import catalogue


@pytest.mark.parametrize("model, said", [
    ("Llama-3-70B", "80 full"), ("gpt-oss-120b", "18 full, 18 with a window of 128"), ("Qwen3-Next-80B-A3B", "12 full, 36 linear"),
    ("Nemotron-3-Nano-30B-A3B", "6 full, 23 linear, 23 without"), ("DeepSeek-V3.2", "61 latent and sparse, 2,048 tokens"),
    ("Llama-4-Maverick", "12 full, 36 in chunks of 8,192")])
def test_layers_are_said_by_kind(model, said):
    assert kinds(catalogue.model(model)) == said


def test_the_table_has_eight_models_and_late_tokens_skip_windows():
    shown = kinds_table(131_072).source
    assert shown.count("<tr>") == 9
    # gpt-oss-120b: 2 x 8 KV heads x 64 x 2 B in 36 layers at first, in 18 later.
    assert Case(model="gpt-oss-120b")(kv_cache.kv_bytes_per_token) == 73_728
    assert 'data-value="73728"' in shown and 'data-value="36864"' in shown
