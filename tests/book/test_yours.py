"""Figures that follow the reader: what they say, what they tell the page's script, and what is refused."""
import html
import json
import re

import pytest

from book.components.sentences import Figure, said, Yours
from gpucalc import Case, kv_cache, serving
from gpucalc.core.figures import gib

CASE = Case(model="Llama-3-70B", gpu="H100 SXM 80GB", context=8192, batch=32)
YOURS = Yours(CASE)


def attributes(figure):
    return {name: html.unescape(value) for name, value in re.findall(r' ([\w-]+)="([^"]*)"', figure.attributes())}


@pytest.mark.parametrize("figure, text", [
    (YOURS.kv_bytes, "85.9 GB"), (YOURS.kv_heads, "8"), (YOURS.batch, "32"), (YOURS.model, "Llama-3-70B"), (YOURS.gpu, "H100 SXM 80GB"),
    (YOURS(cache_element_bytes=1).kv_bytes, "42.9 GB"), (YOURS(batch=1)(context=4096).kv_bytes, "1.34 GB"),
    (YOURS(model="Llama-3-8B").model, "Llama-3-8B")])
def test_what_it_says(figure, text):
    assert str(figure) == text


def test_it_is_the_law_of_the_case():
    """2 x 80 layers x 8 heads x 128 numbers x 2 bytes, of 8,192 tokens, 32 times."""
    assert YOURS.kv_bytes.value == CASE(kv_cache.kv_bytes) == 2 * 80 * 8 * 128 * 2 * 8192 * 32


def test_what_the_script_is_told():
    assert attributes(YOURS.kv_bytes) == {"data-yours": "kv_bytes"}
    changed = YOURS(cache_element_bytes=1, context=serving.mean_context, prompt=100, output=20).sequence_kv_bytes.said("gib")
    told = attributes(changed)
    assert told["data-yours"] == "sequence_kv_bytes" and told["data-form"] == "gib" and str(changed) == gib(changed.value)
    assert json.loads(told["data-but"]) == {"cache_element_bytes": 1, "context": "mean_context", "prompt": 100, "output": 20}


def test_a_sentence_marks_it_and_a_filter_keeps_it_marked():
    text = said("On {{ yours.model }} {{ yours.kv_bytes | gib }} for {{ yours.batch }}.", {"case": CASE})
    assert re.sub("<[^>]*>", "", text) == "On Llama-3-70B 80 GiB for 32."
    assert text.count('class="yours"') == 3 and 'data-form="gib"' in text
    assert said("{{ yours.batch }}", {"case": CASE}, escape=str) == "32"


def test_without_a_case_a_sentence_has_no_yours():
    with pytest.raises(ValueError, match="yours"):
        said("{{ yours.batch }}", {"case": 3})


def test_what_is_no_figure_is_refused():
    with pytest.raises(AttributeError, match="yours.batsh: neither a law nor a quantity nor a kind of row"):
        YOURS.batsh
    with pytest.raises(ValueError, match="replicas"):
        str(YOURS.replicas)


def test_attributes_are_escaped():
    hostile = Figure('a"><script>', "<i>", {"b": '"<i>'})
    assert "<" not in hostile.attributes() and "<i>" not in hostile.marked() and "<script>" not in hostile.marked()
