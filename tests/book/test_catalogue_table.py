"""The table of the catalogue: what stands in it, in which order, and that no text in it is markup."""
import html
import re

import pandas as pd
import pytest

from book.components.catalogue_table import catalogue_table

FRAME = pd.DataFrame({"gpu": ["small", "<b>large</b>"], "bandwidth": [1.5e12, float("nan")], "vendor": ["A&B", "C"],
                      "tdp_watts": [300, 700], "source": ["arXiv 2405.04434", "x" * 41]})
GROUPS = {"Memory": ["bandwidth"], "Who": ["vendor", "tdp_watts"], "Source": ["vendor", "source"]}


def shown(**more):
    return catalogue_table(FRAME, "<i>Cards</i>", GROUPS, **more)


def cells(made):
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", made._repr_html_())]


def test_every_column_is_there_with_its_unit_and_a_dash_for_what_is_missing():
    head, *rows = cells(shown(labels={"bandwidth": "bandwidth <x>"}, formats={"tdp_watts": "{:.0f} watts".format}))
    assert head[1] == "bandwidth &lt;x&gt;" and len(head) == 5
    assert rows[0][:4] == ["small", "1.50 TB/s", "A&amp;B", "300 watts"] and 'href="https://arxiv.org/abs/2405.04434"' in rows[0][4]
    assert rows[1][:2] == ["&lt;b&gt;large&lt;/b&gt;", "–"]


def test_heads_say_their_groups_what_is_better_and_what_filters():
    made = shown(better={"bandwidth": "high", "tdp_watts": "low"}, filters=["vendor"], compare=True)._repr_html_()
    heads = re.findall("<th scope=\"col\"([^>]*)>", made)
    assert heads == ["", ' data-group="0" data-better="high" class=number', ' data-group="1 2" data-filter="vendor"',
                     ' data-group="1" data-better="low" class=number', ' data-group="2"']
    assert 'data-groups="Memory|Who|Source" data-compare>' in made and "data-compare" not in shown()._repr_html_()


def test_numbers_are_there_in_full():
    assert re.findall("data-value=([^ >]*)", shown()._repr_html_()) == ["1.5e+12", "300", "700"]


def test_the_caption_is_text_and_the_plain_reading_counts_the_rows():
    assert f"<figcaption>{html.escape('<i>Cards</i>')}</figcaption>" in shown()._repr_html_()
    assert repr(shown()) == "<i>Cards</i> (2 rows)"


@pytest.mark.parametrize("more, fault", [
    (dict(groups={"Memory": ["bandwidth"]}), "in no group: source, tdp_watts, vendor"),
    (dict(groups=GROUPS | {"More": ["wings"]}), "not in the frame: wings"), (dict(groups=GROUPS, filters=["wings"]), "wings"),
    (dict(groups=GROUPS, better={"wings": "high"}), "wings")])
def test_a_column_without_a_place_is_an_error(more, fault):
    with pytest.raises(ValueError, match=fault):
        catalogue_table(FRAME, "Cards", **more)


def test_a_count_has_all_its_digits():
    frame = pd.DataFrame({"model": list("abcd"), "parameters": [1026408232448, 1 / 3, 3e23, 1 + 2**-52]})
    made = catalogue_table(frame, "Models", {"Parameters": ["parameters"]})._repr_html_()
    assert re.findall("data-value=([^ >]*)", made) == ["1026408232448", "0.333333333333", "3e+23", "1"]
