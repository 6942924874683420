"""Tables, the guess box and the list of sources: what they show, in which order, and that no text in them is markup."""
import math
import re

import pandas as pd
import pytest

from book.components.links import links
from book.components.show import guess, Html, reach, sources, table, volume
from gpucalc.core.evaluate import Row

FRAME = pd.DataFrame({"model": ["small", "<b>large</b>"], "kv_bytes": [1.5e9, float("nan")], "factor": [2.5, 30.0]})


def cells(shown):
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", shown._repr_html_())]


def test_a_table_has_units_meanings_and_a_dash_for_what_is_missing():
    head, *rows = cells(table(FRAME, "Caches"))
    assert head == ["model", "cache bytes of a batch", "factor"]
    assert rows == [["small", "1.50 GB", "2.50"], ["&lt;b&gt;large&lt;/b&gt;", "–", "30"]]


def test_labels_and_formats_overrule():
    head, *rows = cells(table(FRAME, "Caches", labels={"factor": "times <x>"}, formats={"factor": "{:.1f} ×".format}))
    assert head[2] == "times &lt;x&gt;" and [row[2] for row in rows] == ["2.5 ×", "30.0 ×"]


def test_a_table_sorts_by_value_not_by_text():
    assert re.findall(r'data-value="([^"]*)"', table(FRAME, "Caches")._repr_html_()) == ["1500000000", "2.5", "30"]
    never = table(pd.DataFrame({"kv_bytes": [math.inf, -math.inf]}), "Caches")._repr_html_()
    assert re.findall(r'data-value="([^"]*)"', never) == ["Infinity", "-Infinity"], "as a browser reads it"


def test_a_caption_is_text_and_the_plain_reading_counts_the_rows():
    shown = table(FRAME, "<i>Caches</i>")
    assert "<figcaption>&lt;i&gt;Caches&lt;/i&gt;</figcaption>" in shown._repr_html_()
    assert repr(shown) == "<i>Caches</i> (2 rows)"


def test_a_guess_keeps_its_answer_folded_and_to_twelve_digits():
    box = guess('How much "cache"?', 1 / 3, "GB", "A third <of> it.")
    html = box._repr_html_()
    assert 'data-answer="0.333333333333"' in html and 'data-unit="GB"' in html
    assert "How much &quot;cache&quot;?</p>" in html and 'aria-label="Your guess in GB"> GB</label>' in html
    assert html.index("<details>") < html.index("A third &lt;of&gt; it.")
    assert repr(box) == 'How much "cache"? (GB): A third <of> it.'


def test_sources_list_each_row_once_with_its_date_and_what_was_recalled():
    seen = Row(dict(source="vendor | page", date="2024-04", confidence="seen"), "A card", "gpu")
    recalled = Row(dict(source="memory", date="2023", confidence="recalled"), "*B*", "gpu")
    lines = sources(seen, recalled, seen, caption="Rows")._repr_markdown_().splitlines()
    assert lines == ["| Rows | source | date |", "|---|---|---|", r"| A card | vendor \| page | 2024-04 |",
                     r"| \*B\* | memory | 2023 \(recalled\) |"]


@pytest.mark.parametrize("share, text", [
    (0, "0 %"), (0.9994, "99.9 %"), (0.9996, "100 %"), (1, "100 %"), (1.0001, "never"), (math.inf, "never"),
    (1e-7, "0.0000100 %")])
def test_a_share_above_the_whole_is_never_reached(share, text):
    assert reach(share) == text


@pytest.mark.parametrize("count, text", [
    (0, "0"), (0.9994, "0.999"), (0.9996, "1"), (1, "1"), (999.5, "1,000"), (9999.99, "10,000"), (1e4, "10,000"),
    (826_432, "826,000"),
    (999_499, "999,000"), (1e6 - 1, "1 million"), (9_474_000, "9.47 million"), (-3, "−3"), (math.inf, "never"),
    (1e-7, "0.000000100")])
def test_a_volume_has_three_figures(count, text):
    assert volume(count) == text


@pytest.mark.parametrize("length, width", [(1, "short"), (20, "short"), (21, "middling"), (40, "middling"), (41, "long")])
def test_a_text_cell_is_as_wide_as_its_text(length, width):
    shown = table(pd.DataFrame({"a": ["x" * length]}), "")._repr_html_()
    assert f'<td class="{width}">{"x" * length}</td>' in shown


def test_a_table_is_whole():
    frame = pd.DataFrame({"kv_heads": [8], "two_words": [None], "usd_per_hour": [1 / 3]})
    assert table(frame, "All").source == (
        '<figure class="data-table"><figcaption>All</figcaption><div class="table-scroll"><table class="data"><thead><tr>'
        '<th scope="col" class="number">key and value heads</th>'
        '<th scope="col">two words</th><th scope="col" class="number">price of one rented GPU-hour</th></tr></thead><tbody><tr>'
        '<td class="number" data-value="8">8</td><td>–</td><td class="number" data-value="0.333333333333">0.333 USD/h</td>'
        '</tr></tbody></table></div></figure>')


def test_what_is_missing_stands_where_its_column_s_numbers_do():
    shown = table(pd.DataFrame({"a": [1.0, None], "b": ["x", None]}), "All").source
    assert '<td class="number">–</td><td>–</td>' in shown


@pytest.mark.parametrize("rows, more", [(25, ""), (26, "1 more rows"), (60, "35 more rows")])
def test_a_long_table_says_how_many_rows_are_folded(rows, more):
    shown = table(pd.DataFrame({"a": range(rows)}), "All").source
    assert shown.count("<tr>") == rows + 1 and re.findall(r"<summary>(.*?)</summary>", shown) == ([more] if more else [])


def test_a_source_in_a_table_is_a_link():
    shown = table(pd.DataFrame({"source": ["arXiv 2205.05198 <b>"]}), "").source
    assert '<a href="https://arxiv.org/abs/2205.05198">arXiv 2205.05198</a> &lt;b&gt;' in shown


@pytest.mark.parametrize("text, address", [
    ("arXiv 2205.05198", "https://arxiv.org/abs/2205.05198"), ("arXiv:2205.05198", "https://arxiv.org/abs/2205.05198"),
    ("https://a.org/b?c=1&d", "https://a.org/b?c=1&d"), ("docs.nvidia.com/nim/llm", "https://docs.nvidia.com/nim/llm"),
    ("ggml-org/llama.cpp ggml/src/ggml-common.h (commit 01243c5)",
     "https://github.com/ggml-org/llama.cpp/blob/01243c5/ggml/src/ggml-common.h"),
    ("pytorch-labs/gpt-fast README.md @32971d3", "https://github.com/pytorch-labs/gpt-fast/blob/32971d3/README.md"),
    ("NVIDIA/NeMo docs/summary.md", "https://github.com/NVIDIA/NeMo/blob/HEAD/docs/summary.md"),
    ("Hugging Face meta-llama/Llama-2-7b-hf", "https://huggingface.co/meta-llama/Llama-2-7b-hf")])
def test_a_source_names_an_address(text, address):
    assert links(f"see {text}; more") == [("see ", ""), (text, address), ("; more", "")]


@pytest.mark.parametrize("text", ["A100/H100 too expensive", "arXiv", "javascript:alert(1)", "12.0 of 15.75", "vLLM/Llama 3.3", "mine@a.org"])
def test_what_is_no_address_is_no_link(text):
    assert [to for _, to in links(text) if to] == []


def test_html_has_a_plain_reading():
    shown = Html("<b>x</b>", "x")
    assert (shown._repr_html_(), repr(shown)) == ("<b>x</b>", "x")


def test_sources_are_links_that_no_text_breaks():
    row = Row(dict(source="[x](y) arXiv 2205.05198, figure 1", date="2026", confidence="seen"), "A", "gpu")
    assert sources(row).source.splitlines()[2] == (
        r"| A | \[x\]\(y\) [arXiv 2205.05198](<https://arxiv.org/abs/2205.05198>), figure 1 | 2026 |")


def test_a_row_that_says_nothing_of_itself_was_given_and_seen():
    assert sources({"batch": 1}).source.splitlines() == [
        "| Rows this page was computed from | source | date |", "|---|---|---|", "| given |  |  |"]
