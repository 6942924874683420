"""Charts: their lines are laws, their parts stand in order, and each says its finding."""
import math
import re
from pathlib import Path

import altair
import pandas as pd
import pytest

from book.build.charts import CATEGORIES
from book.components import charts
from book.components.show import FAMILIAR
from book.components.picture import COLORS
from gpucalc import Case, kv_cache, serving
from gpucalc.core.law import LAWS

CASE = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", batch=32, replica_gpus=1, context=8192)


def slider():
    half = (kv_cache.kv_bytes, {"cache_element_bytes": 1})
    return charts.slider_chart(CASE, {"cache": kv_cache.kv_bytes, "half": half}, "context", [512, 1024],
                               {"batch": (1, 128, 1, 32)}, "It grows.", "bytes").to_dict()


def test_a_slider_chart_evaluates_the_law_in_the_browser():
    spec = slider()
    one, half = (each["calculate"] for each in spec["transform"])
    assert "datum['context']" in one.replace('"', "'").replace("datum.context", "datum['context']") and "batch" in one
    assert eval_vega(one, batch=2, context=3) == 131_072 * 6 and eval_vega(half, batch=2, context=3) == 65_536 * 6


def eval_vega(text, batch, context, **more):
    for name in ("datum['context']", 'datum["context"]', "datum.context"):
        text = text.replace(name, str(context))
    text = re.sub(r"\bif\(", "choice(", text).replace("(1 / 0)", "float('inf')")
    return eval(text, {"batch": batch, "min": min, "max": max, **more})


def test_a_slider_chart_says_what_a_test_needs_to_check_it():
    check = slider()["usermeta"]["gpucalc"]
    assert check["x"] == "context" and [line["law"] for line in check["lines"]] == ["kv_bytes", "kv_bytes"]
    given = check["lines"][1]["given"]
    assert given["cache_element_bytes"] == 1 and "batch" not in given and "context" not in given
    assert Case.of({**given, "batch": 2, "context": 3})(kv_cache.kv_bytes) == 65_536 * 6


def test_a_law_that_stands_for_an_input_is_kept_in_the_check():
    case = Case(model="Llama-3-8B", prompt=2000, output=1000, context=serving.mean_context)
    spec = charts.slider_chart(case, {"cache": kv_cache.kv_bytes}, "batch", [1, 2], {}, "It grows.", "bytes").to_dict()
    assert spec["usermeta"]["gpucalc"]["lines"][0]["given"]["context"] == {"law": "mean_context"}


def test_sliders_carry_name_range_and_start():
    [parameter] = slider()["params"]
    assert (parameter["name"], parameter["value"]) == ("batch", 32)
    assert (parameter["bind"]["min"], parameter["bind"]["max"], parameter["bind"]["step"]) == (1, 128, 1)


def drawn(**more):
    return charts.slider_chart(CASE, {"cache": kv_cache.kv_bytes, "room": kv_cache.cache_room_bytes}, "context", [512, 32768],
                               {"batch": (1, 128, 1, 32)}, "It grows.", "bytes", **more).to_dict()


def signals(spec):
    """What each parameter of a chart is computed from; a number is what it starts with."""
    return {each["name"]: each.get("expr", each.get("value")) for each in spec["params"]}


def test_a_crossing_moves_with_the_sliders_and_is_marked():
    spec = drawn(crossing=kv_cache.longest_context)
    at = signals(spec)
    assert eval_vega(at["crossing"], batch=32, context=0, **BROWSER) == CASE(kv_cache.longest_context)
    rule, point, *words = spec["layer"][2:6]
    assert "<= 32768" in rule["transform"][1]["filter"] and rule["mark"]["type"] == "rule"
    assert point["mark"]["type"] == "point" and {"calculate": "crossing_height", "as": "height"} in point["transform"]
    assert all(each["mark"]["type"] == "text" and "' tokens'" in str(each["transform"]) for each in words)


# What the browser's expressions take; `if` is a word of Python.
BROWSER = {"floor": math.floor, "choice": lambda holds, one, other: one if holds else other, "true": True}


@pytest.mark.parametrize("value, name, text", [
    ("1", "kv_bytes", "replace(format(1, '.3~s'), regexp('([a-zA-Zµ]?)$'), ' $1') + 'B'"),
    ("1", "utilization", "format(100 * 1, '.3~r') + ' %'"),
    ("1", "context", "(abs(1) < 1e6 && 1 == floor(1) ? format(1, ',d') : format(1, ',.3r')) + ' tokens'"),
    ("1", "usd_per_hour", "(abs(1) < 1e6 && 1 == floor(1) ? format(1, ',d') : format(1, ',.3r')) + ' USD/h'")])
def test_a_crossing_has_the_unit_of_what_is_on_the_axis(value, name, text):
    assert charts.vega_text(value, name) == text


def test_a_finding_moves_with_the_sliders():
    spec = drawn(finding="At {batch} sequences of {model} up to {longest_context} tokens, {kv_bytes:gib} on {replica_gpus} GPU")
    about = spec["usermeta"]
    assert about["title"] == f"At 32 sequences of Llama-3-8B up to {CASE(kv_cache.longest_context):,} tokens, 32 GiB on 1 GPU"
    [choice] = about["finding"]
    assert choice["parts"] == ["At ", {"signal": "batch", "form": ""}, " sequences of ", "Llama-3-8B", " up to ",
                               {"signal": "said_longest_context", "form": ""}, " tokens, ",
                               {"signal": "said_kv_bytes", "form": "gib"},
                               " on ", "1", " GPU"]
    assert eval_vega(signals(spec)["said_kv_bytes"], batch=2, context=0) == 131_072 * 2 * 8192
    assert about["units"] == {"": ["", "none", "no limit"]}


def test_a_finding_may_have_conditions():
    told = [("longest_context >= 8192 / 2", "much"), ("longest_context < infinity", "some"), "all"]
    spec = drawn(finding=told)
    assert spec["usermeta"]["title"] == "much"
    assert [each.get("when") for each in spec["usermeta"]["finding"]] == ["said_when_0", "said_when_1", None]
    assert signals(spec)["said_when_0"] == "(said_longest_context >= 4096.0)"
    assert signals(spec)["said_when_1"] == "(said_longest_context < (1 / 0))"
    assert drawn(finding=[("batch > 40", "many"), "few"])["usermeta"]["title"] == "few"


@pytest.mark.parametrize("condition, holds", [
    ("a + b > 5", False), ("a + b >= 5", True), ("a - b < 0 - 1", False), ("a - b <= 0 - 1", True), ("a * b == 6", True), ("a * b != 6.0", False),
    ("b / a == 1.5", True), ("2 * a + b > b * 2", True)])
def test_a_condition_is_worked_out_as_it_is_written(condition, holds):
    assert charts._holds(condition, {"a": 2, "b": 3}.get) is holds


@pytest.mark.parametrize("told, message", [
    ("{nothing}", "neither a quantity nor a law"), ("{usd_per_hour}", "the case has no usd_per_hour"),
    ("{context:token} tokens", "leave out 'tokens'"), ([("batch", "many"), "few"], "allowed: one comparison"),
    ([("batch > 'a'", "many"), "few"], "is no quantity, law or number")])
def test_a_finding_that_cannot_be_said_is_refused(told, message):
    with pytest.raises(ValueError, match=message):
        drawn(finding=told)


def test_a_finding_without_what_moves_stands_still():
    about = drawn(finding="It grows")["usermeta"]
    assert about["title"] == "It grows" and "finding" not in about and charts.laws_in("It grows", CASE) == []


def test_rows_may_be_chosen():
    """The fields that the lines take are signals, and each row has the values of its own case."""
    spec = drawn(choose=("model", "gpu"), crossing=kv_cache.longest_context)
    given, fields = signals(spec), spec["usermeta"]["gpucalc"]["rows"]
    assert fields["gpu"] == ["memory_bytes"] and {"layers", "kv_heads", "params", "window"} <= set(fields["model"])
    assert given["model"] == "Llama-3-8B" and list(given["model_rows"]) == list(dict.fromkeys(["Llama-3-8B", *FAMILIAR["model"]]))
    assert given["layers"] == f"model_rows[model][{fields['model'].index('layers')}]"
    for name, values in given["model_rows"].items():
        held = Case(**dict(zip(fields["model"], values)), **{key: CASE.inputs[key] for key in ("batch", "context")})
        assert held(kv_cache.kv_bytes) == CASE.but(model=name)(kv_cache.kv_bytes)
    kept = {name for line in spec["usermeta"]["gpucalc"]["lines"] for name in line["given"]}
    assert kept.isdisjoint({*fields["model"], *fields["gpu"]})


def test_a_row_without_a_value_is_left_out(monkeypatch):
    monkeypatch.setitem(FAMILIAR, "gpu", ("H200 SXM 141GB", "Trainium 32GB", "L4 24GB"))
    rows = charts.Chosen(CASE, "gpu", [(LAWS["watts_per_gpu"], {})]).rows
    assert {name: value for name, [value] in rows.items()} == {"H100 SXM 80GB": 700, "H200 SXM 141GB": 700, "L4 24GB": 72}
    with pytest.raises(ValueError, match="choose: 'link' is no row"):
        charts.Chosen(CASE, "link", [])


def test_a_slider_of_few_values_is_a_switch_with_words():
    spec = charts.slider_chart(CASE.but(cache_element_bytes=1), {"cache": kv_cache.kv_bytes}, "context", [1, 2],
                               {"cache_element_bytes": {"BF16": 2, "FP8": 1}}, "It grows.", "bytes").to_dict()
    [parameter] = spec["params"]
    assert parameter["value"] == 1 and parameter["bind"] == {
        "input": "select", "options": [2, 1], "labels": ["BF16", "FP8"], "name": "bytes of one cached element "}
    assert "sliders" not in spec["usermeta"]


def test_the_value_beside_a_slider_has_its_unit():
    forms = charts.forms(dict.fromkeys(["batch", "bandwidth", "latency", "utilization", "usd_per_hour"], (0, 1, 1, 1)))
    assert forms == {"batch": "", "bandwidth": "byte/second", "latency": "second", "utilization": "percent",
                     "usd_per_hour": "USD/hour"}


def test_a_long_expression_is_written_once():
    spec = drawn(choose=("model",), crossing=kv_cache.longest_context, finding="{longest_context}")
    texts = [text for text in signals(spec).values() if isinstance(text, str)] + [each["calculate"] for each in spec["transform"]]
    long = [text for text in texts if len(text) > 60]
    assert len(long) == len(set(long)) > 5 and "said_longest_context" not in signals(spec)
    assert sum("(kv_lora_rank * (2" in text for text in texts) == 1


def test_colors_have_one_home():
    """Those of the site's style by day are the ones that diagrams fall back to; a chart takes them by number."""
    style = (Path(__file__).parents[2] / "book/static/site.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--category-(\d): (#\w{6})", style.partition("}")[0]))
    assert [light[str(number)] for number in range(8)] == [COLORS[letter] for letter in "abcdefgh"]
    assert CATEGORIES == [f"@category{number}" for number in range(8)]
    for letter in COLORS:
        assert f".picture .fill-{letter}{{" in style and f'.picture [data-edge="{letter}"]{{' in style


PARTS = pd.DataFrame({"who": ["a", "a", "b"], "part": ["big", "small", "big"], "kv_bytes": [3e9, 1e9, 2e9]})


def test_bars_keep_the_order_of_names_and_parts():
    spec = charts.bars(PARTS, "kv_bytes", "who", "part", "a holds most.", "bytes").to_dict()
    assert spec["encoding"]["y"]["sort"] == ["a", "b"] and spec["encoding"]["color"]["scale"]["domain"] == ["big", "small"]
    [rows] = spec["datasets"].values()
    assert [row["place"] for row in rows] == [0, 1, 0]
    turned = charts.bars(PARTS, "kv_bytes", "who", "part", "says", "bytes", order=["small", "big"], limit=2.5e9).to_dict()
    assert turned["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["small", "big"]
    assert turned["layer"][-1]["data"]["values"] == [{"limit": 2.5e9}]


def first(spec):
    """The layer with the lines, without the names at their ends."""
    return spec["layer"][0] | {"usermeta": spec["usermeta"]} if "layer" in spec else spec


@pytest.mark.parametrize("channel, at", [(altair.X, "x"), (altair.Y, "y")])
def test_a_rule_crosses_the_axis_it_is_for(channel, at):
    for layer in charts.rule(channel, 5).to_dict()["layer"]:
        assert layer["encoding"][at]["field"] == "limit"


def test_lines_take_dashes_a_limit_and_a_plain_ratio():
    frame = PARTS.assign(context=[1, 2, 3], times=[1, 2, 3])
    chart = charts.lines(frame, "context", "times", "who", "It grows.", y_title="times as fast", dash="part", limit=1)
    layers = chart.to_dict()["layer"]
    assert layers[0]["encoding"]["strokeDash"]["sort"] == ["big", "small"]
    assert "'B'" not in layers[0]["encoding"]["y"]["axis"]["labelExpr"] and layers[0]["encoding"]["y"]["title"] == "times as fast"
    assert layers[-1]["data"]["values"] == [{"limit": 1}]


@pytest.mark.parametrize("channel, end", [(altair.X, "x"), (altair.Y, "y")])
def test_ticks_of_an_axis(channel, end):
    """Bytes take a prefix on the tick, hours none; a log axis labels 1, 2 and 5, or 1 where it spans over 2,000."""
    across = end == "x"
    straight = charts.axis(channel, "size", "kv_bytes", "bytes").to_dict()
    assert straight["axis"] == {"grid": not across, "tickCount": 6 if across else 5, "labelExpr": (
        "replace(format(datum.value, '.3~s'), regexp('([a-zA-Zµ]?)$'), ' $1') + 'B'")}
    assert (straight["field"], straight["type"], straight["title"]) == ("size", "quantitative", "bytes")
    log = charts.axis(channel, "days", "training_days", "days", log=True).to_dict()
    digit = "round(pow(10, (log(datum.value) / LN10) - floor((log(datum.value) / LN10) + 1e-9)))"
    label = "replace(format(datum.value, ',~r'), regexp('([a-zA-Zµ]?)$'), ' $1') + ''"
    ends = f"domain('{end}')"
    shown = f"indexof({ends}[1] / {ends}[0] > 2000 ? [1] : [1, 2, 5], {digit}) >= 0"
    only = {"condition": {"test": shown, "value": 1}, "value": 0}
    assert log["axis"] == {"grid": not across, "labelOverlap": "greedy", "labelSeparation": 4, "gridOpacity": only,
                           "tickOpacity": only, "labelExpr": f"{shown} ? {label} : ''"}
    assert log["scale"] == {"type": "log", "nice": end == "y"}


@pytest.mark.parametrize("session, mime", [(None, charts.MIME), ("here.ipynb", charts.JUPYTER_MIME)])
def test_a_chart_is_shown_without_a_network(monkeypatch, session, mime):
    """On the site by its own script, in JupyterLab by its own renderer; elsewhere as a still picture."""
    monkeypatch.delenv("STILL_PICTURES", raising=False)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    if session:
        monkeypatch.setenv("JPY_SESSION_NAME", session)
    shown = charts._render(charts.bars(PARTS, "kv_bytes", "who", "part", "a holds most.", "bytes").to_dict())
    assert set(shown) == {mime, "image/svg+xml", "text/plain"} and shown["text/plain"] == "a holds most."
    assert "$schema" not in shown[mime] and shown["image/svg+xml"].startswith("<svg")


def test_a_chart_is_finished():
    spec = charts.lines(PARTS.assign(context=[1, 2, 3], who="a" * 40), "context", "kv_bytes", "who", "says").to_dict()
    assert (spec["width"], spec["height"], spec["autosize"]) == ("container", 340, {"type": "fit-x", "contains": "padding"})
    assert spec["config"]["legend"] == {"orient": "top", "columns": 2, "labelLimit": 320, "offset": 28}
    assert spec["usermeta"] == {"alt": "says"}
    titled = charts.titled(charts.bars(PARTS, "kv_bytes", "who", "part", "says", "bytes"), "a holds most").to_dict()
    assert titled["usermeta"] == {"alt": "says", "title": "a holds most"}


def test_names_stand_at_the_ends_of_lines_where_there_is_room():
    """In the order of the lines' ends, a gap apart; with many or long names there is a legend."""
    spec = drawn()
    names = spec["layer"][-1]
    assert names["name"] == charts.LAYER and names["mark"]["type"] == "text" and spec["usermeta"]["direct"] is True
    assert names["encoding"]["color"]["scale"] == {"domain": ["cache", "room"]}
    assert not charts.fit(["a" * 40]) and not charts.fit(list("abcdefghi"))
    frame = pd.DataFrame({"context": [1, 2], "kv_bytes": [1, 2], "who": ["a", "a" * 40]})
    assert "layer" in charts.lines(frame, "context", "kv_bytes", "who", "says").to_dict()
    assert "direct" not in charts.lines(frame, "context", "kv_bytes", "who", "says").to_dict()["usermeta"]


@pytest.mark.parametrize("pictures", ["yes", "no"])
def test_a_chart_of_a_frame_without_rows_is_its_words(monkeypatch, pictures):
    monkeypatch.setenv("STILL_PICTURES", pictures)
    frame = pd.DataFrame({"context": [1.0], "kv_bytes": [1.0], "who": ["a"]})
    for rows, kinds in ((frame, charts.MIME), (frame[:0], "text/markdown")):
        shown = charts.lines(rows, "context", "kv_bytes", "who", "No <b>offer</b> moved.")._repr_mimebundle_()
        assert kinds in shown and shown["text/plain"] == "No <b>offer</b> moved."
    assert shown == {"text/markdown": r"No \<b\>offer\</b\> moved.", "text/plain": "No <b>offer</b> moved."}


def test_without_the_site_a_chart_has_its_words_in_it():
    """In Jupyter and in a still picture: the finding as title, a slider's unit beside its name, no legend for named lines."""
    spec = charts.slider_chart(CASE, {"cache": kv_cache.kv_bytes}, "context", [1, 2], {"bandwidth": (1e12, 8e12, 1e10, 3e12)},
                               "It grows.", "bytes", finding="It grows").to_dict()
    shown = charts._with_words(spec)
    assert shown["title"] == {"text": ["It grows"], "anchor": "start"} and shown["config"]["legend"]["disable"] is True
    assert shown["params"][0]["bind"]["name"] == "memory bandwidth, B/s "
