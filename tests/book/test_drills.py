"""Drills: what is judged how, units, bad files, and exercises of lessons. tests/book/test_drill_bank.py holds what each drill says."""
import html
import itertools
import json
import math
import re

import pytest

from book.build.inputs import ROOT
from book.components.drills import drill as exercise
from book.pages import drills as drill_page
from book.web import drills
from book.web.drills import blank_text, drill, MET, near, off, scale, WITHIN, Wrong
from gpucalc import Case

EVERY = list(drills.drills().values())
REREAD = []


def test_there_are_drills_of_each_level_and_many_topics():
    assert {one.level for one in EVERY} == set(drills.LEVELS) and drills.drills("kv_cache").keys() >= {"kv-token", "kv-batch"}


# By hand

TOKEN = drill("kv-token")
LLAMA = TOKEN.case({"model": "Llama-3-8B", "cache_element_bytes": 2})


def test_a_drill_by_hand():
    """2 x 32 layers x 8 KV heads x 128 numbers x 2 bytes: 131.072 kB; four times that with 32 query heads, 128 in KiB."""
    assert TOKEN.answer(LLAMA) == 131.072 and TOKEN.mistaken(LLAMA) == [524.288, 65.536, 128]
    assert "Llama-3-8B" in TOKEN.asked(LLAMA) and "2 B" in TOKEN.asked(LLAMA)


@pytest.mark.parametrize("said, counts, turn", [
    (131.072, True, None), (131, True, None), (144, True, None), (145, False, None), (118, True, None), (117, False, 2), (110, False, None),
    (128, True, 2), (127, True, 2), (524, False, 0), (480, False, 0), (65.5, False, 1), (1, False, None), (1e9, False, None)])
def test_what_counts_and_what_it_comes_of(said, counts, turn):
    assert TOKEN.judged(LLAMA, said) == (counts, turn)


def test_an_order_of_magnitude_is_within_a_factor_of_two():
    rough = TOKEN._replace(order=True)
    assert [rough.judged(LLAMA, said)[0] for said in (65.6, 262, 65, 263)] == [True, True, False, False]
    assert near(11, 10) and near(9, 10) and not near(11.1, 10) and off(1, 0) == math.inf and not near(1, math.nan) and WITHIN > MET


@pytest.mark.parametrize("law, unit, size", [
    ("kv_bytes", "GB", 1e9), ("kv_bytes", "GiB", 2**30), ("kv_bytes", "B", 1), ("request_seconds", "ms", 1e-3), ("max_batch", "", 1),
    ("layout_mfu", "%", 0.01), ("params", "billion", 1e9), ("kv_bytes", "KiB", 1024), ("kv_bytes", "MiB", 1_048_576), ("kv_bytes", "kB", 1e3), ("kv_bytes", "MB", 1e6),
    ("kv_bytes", "TB", 1e12), ("kv_bytes", "PB", 1e15), ("kv_bytes", "EB", 1e18), ("step_flops", "ZFLOP", 1e21), ("request_seconds", "µs", 1e-6), ("request_seconds", "s", 1),
    ("params", "million", 1e6), ("params", "trillion", 1e12), ("params", "", 1), ("requests_per_second", "1/s", 1)])
def test_units_are_scaled(law, unit, size):
    assert scale(law, unit) == size


@pytest.mark.parametrize("law, unit", [("kv_bytes", "GO"), ("kv_bytes", ""), ("max_batch", "GB"), ("request_seconds", "GiB")])
def test_units_of_other_things_are_refused(law, unit):
    with pytest.raises(ValueError, match=f"unit {unit!r}; allowed for {law}: "):
        scale(law, unit)


def test_blanks_are_printed_as_they_ask():
    case = Case(model="Llama-3-8B", context=8192, headroom=0.1)
    shown = [blank_text(case, *blank) for blank in (("model",), ("context",), ("headroom", "percent"), ("kv_bytes_per_token", "exact"))]
    assert shown == ["Llama-3-8B", "8,192", "10 %", "131,072 B"]


# Files that are wrong

GOOD = dict(level=2, ask="What does {model} leave?", law="kv_bytes_per_token", unit="kB", draw={"model": ["Llama-3-8B"]},
            hint="Two vectors.", wrong=[{"say": "Twice.", "times": 2}])


def written(folder, monkeypatch, **held):
    (folder / "drills").mkdir()
    (folder / "drills/kv_cache.yaml").write_text(json.dumps({"kv-test": GOOD | held}), encoding="utf-8")
    monkeypatch.setattr(drills, "DATA", folder)
    drills._all.cache_clear()
    REREAD.append(folder)


@pytest.fixture(autouse=True)
def forgotten():
    """What a test read from elsewhere."""
    yield
    if REREAD:
        drills._all.cache_clear()
        REREAD.clear()


def test_a_good_file_is_read(tmp_path, monkeypatch):
    written(tmp_path, monkeypatch)
    assert drills.drills()["kv-test"].wrong == (Wrong("Twice.", times=2),) and drill("kv-test").steps == ("kv_bytes_per_token",)


@pytest.mark.parametrize("held, said", [
    (dict(law="kv_bites"), "law 'kv_bites': unknown; close: kv_bytes"), (dict(steps=["kv_bites"]), "law 'kv_bites'"),
    (dict(level=4), "level 4; allowed: 1, 2, 3"), (dict(unit="GO"), "unit 'GO'; allowed for kv_bytes_per_token: B"),
    (dict(draw={"modell": ["x"]}), "modell: unknown; allowed: .*close: model"), (dict(given={"contexts": 1}), "contexts: unknown"),
    (dict(ask="What does {modell} leave?"), "modell: unknown"), (dict(color="red"), "color"),
    (dict(wrong=[{"say": "No.", "law": "x"}]), "law 'x'"), (dict(wrong=[{"say": "No.", "but": {"kv_head": 1}}]), "kv_head: unknown"),
    (dict(wrong=[{"says": "No."}]), "says: unknown; allowed: say, but"), (dict(wrong=[{"say": "No.", "unit": "kg"}]), "unit 'kg'"),
    (dict(draw={"model": "Llama-3-8B"}), "draw of model: 'Llama-3-8B'; allowed: a list"), (dict(draw={}), "draw: .*allowed: "),
    (dict(draw={"model": []}), "draw of model"), (dict(wrong=[]), "wrong: .*allowed: "),
    (dict(wrong=["No."]), "'No.'; allowed: say, but"), (dict(wrong=[{"times": 2}]), "say: missing"), (dict(wrong=[{"say": "No.", "times": "2"}]), "times: '2'"),
    (dict(law=["x"]), "law: .*; allowed: a text"), (dict(order="yes"), "order: 'yes'; allowed: true or false"), (dict(given=3), "given: 3; allowed: names"),
    (dict(ask="What does {model:modl} leave?"), "ask: the form 'modl' of a blank; allowed: a unit"), (dict(hint=""), "hint"), (dict(ask=7), "ask")])
def test_a_bad_file_is_refused(tmp_path, monkeypatch, held, said):
    written(tmp_path, monkeypatch, **held)
    with pytest.raises(ValueError, match=f"drills/kv_cache.yaml, kv-test: .*{said}"):
        drills.drills()


def test_a_drill_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no drill 'kv-tokens'; close: kv-token"):
        drill("kv-tokens")


# On pages

PAGE = Case(model="Llama-3-70B", gpu="H100 SXM 80GB", context=8192, batch=32)


def plain(text):
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", text)).replace("\\", "").replace("**", "").split())


def test_an_exercise_has_the_page_s_own_numbers():
    """2 x 80 layers x 8 KV heads x 128 numbers x 2 bytes are 327.68 kB; 8 times that with 64 query heads."""
    text = exercise("kv-token", PAGE).source
    question, answer = map(plain, text.split("<summary>Answer</summary>"))
    assert "Llama-3-70B" in question and "Answer in kB." in question
    places = [answer.find(part) for part in ("Set-up.", "Numbers.", "Result. 328 kB", "The usual mistake.", "2,620 kB")]
    assert -1 not in places and places == sorted(places) and 'href="drills.html#drill=kv-token"' in text


def test_an_exercise_keeps_what_it_is_given_and_falls_back_on_its_own():
    assert "4 sequences" in plain(exercise("kv-batch", PAGE, batch=4).source)
    nowhere = Case(model="Falcon-7B", gpu="H100 SXM 80GB", replica_gpus=4, context=10**12)
    shown = plain(exercise("kv-fp8", nowhere).source)
    assert "Llama-3.3-70B" in shown, "no sequence of so many tokens fits"
    never = dict(fixed_usd_per_hour=2, work_usd_per_hour=0.2, level_usd_per_hour=0.1)
    assert "Result. 45.5 %" in plain(exercise("own-break-even", Case(), **never).source), "1 / (2.5 - 0.3): a rent below the power has none"


def test_hostile_text_is_escaped(tmp_path, monkeypatch):
    nasty = "<img src=x onerror=alert(1)> {model} *x*"
    written(tmp_path, monkeypatch, ask=nasty, hint=nasty, recall=nasty, wrong=[{"say": nasty, "times": 2}])
    monkeypatch.setattr(drills, "chains", lambda: {nasty: ["kv-test"]})
    text, page = exercise("kv-test", PAGE).source, drill_page.sheet().source
    assert "<img" not in text.replace("\\<img", "") and "<img" not in page and "<img" not in drills.script()


def test_the_sheet_has_each_drill_and_its_key():
    text = drill_page.sheet().source
    asked, key = text.split("<summary>Key</summary>")
    topics = drills.topics()
    assert 2 * len(topics) >= asked.count("<li>") == key.count("<li>") > len(topics) and asked.count("<h3>") == len(topics) and drill_page.sheet().source == text
    assert sum(int(row) for row in re.findall(r'data-value="(\d+)"', drill_page.levels_table().source)) == len(EVERY)


def test_lessons_name_drills_that_are_there():
    for path in sorted((ROOT / "notebooks").glob("[a-z]*.md")):
        for name in re.findall(r'^drill\("([\w-]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
            assert drill(name), path.stem


def test_follow_names_what_a_drill_needs():
    names = drills.followed(["batch", "drill:kv-token"])
    assert {"batch", "kv_bytes_per_token", "cache_element_bytes", "heads", "kv_heads"} <= set(names) and "model" not in names
    assert all(not name.startswith("drill:") for name in names)


def test_the_script_holds_no_law_that_no_drill_needs():
    text = drills.script()
    assert "kv_bytes_per_token " in text and "owned_rent_equal" not in text
    assert len(text.encode()) < 1600 * len(EVERY)
    used = set(itertools.chain(*(drills.used(one)[0] for one in EVERY)))
    assert len(used) < 320


def test_a_right_answer_comes_of_a_wrong_turn_only_where_that_is_nearer():
    """100.5 is nearer to 100 than to 101.5, and 101 is not; 103.6 is within a tenth, yet further than a fiftieth from any turn."""
    found = [drills.verdict(said, 100, [101.5, math.nan, 50]) for said in (100.5, 101, 103.6, 50, 54.9, 56)]
    assert found == [(True, None), (True, 0), (True, None), (False, 2), (False, 2), (False, None)]
