"""Tables, the guess box and the list of sources: what they show, in which order, and that no text in them is markup."""
import re

import pandas as pd

from gpucalc.core.evaluate import Row
from gpucalc.page.show import guess, sources, table

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


def test_a_caption_is_text_and_the_plain_reading_counts_the_rows():
    shown = table(FRAME, "<i>Caches</i>")
    assert "<caption>&lt;i&gt;Caches&lt;/i&gt;</caption>" in shown._repr_html_()
    assert repr(shown) == "<i>Caches</i> (2 rows)"


def test_a_guess_keeps_its_answer_folded_and_exact():
    box = guess('How much "cache"?', 1 / 3, "GB", "A third <of> it.")
    html = box._repr_html_()
    assert float(re.search(r'data-answer="([^"]*)"', html)[1]) == 1 / 3 and 'data-unit="GB"' in html
    assert "How much &quot;cache&quot;? (GB)" in html
    assert html.index("<details>") < html.index("A third &lt;of&gt; it.")
    assert repr(box) == 'How much "cache"? (GB): A third <of> it.'


def test_sources_list_each_row_once_with_its_date_and_what_was_recalled():
    seen = Row(dict(source="vendor | page", date="2024-04", confidence="seen"), "A card", "gpu")
    recalled = Row(dict(source="memory", date="2023", confidence="recalled"), "*B*", "gpu")
    lines = sources(seen, recalled, seen, caption="Rows")._repr_markdown_().splitlines()
    assert lines == ["| Rows | source | date |", "|---|---|---|", r"| A card | vendor \| page | 2024-04 |",
                     r"| \*B\* | memory | 2023 \(recalled\) |"]
