"""Charts: their lines are laws, their parts stand in order, and each says its finding."""
import altair
import pandas as pd
import pytest

from gpucalc import Case, kv_cache, serving
from gpucalc.page import charts

CASE = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", batch=32, replica_gpus=1, context=8192)


def slider():
    return charts.slider_chart(CASE, {"cache": kv_cache.kv_bytes, "half": (kv_cache.kv_bytes, {"cache_element_bytes": 1})}, "context",
                               [512, 1024], {"batch": (1, 128, 1, 32)}, "It grows.", "bytes").to_dict()


def test_a_slider_chart_evaluates_the_law_in_the_browser():
    spec = slider()
    one, half = (each["calculate"] for each in spec["transform"])
    assert "datum['context']" in one.replace('"', "'").replace("datum.context", "datum['context']") and "batch" in one
    assert eval_vega(one, batch=2, context=3) == 131_072 * 6 and eval_vega(half, batch=2, context=3) == 65_536 * 6


def eval_vega(text, batch, context):
    for name in ("datum['context']", 'datum["context"]', "datum.context"):
        text = text.replace(name, str(context))
    return eval(text, {"batch": batch, "min": min, "max": max})


def test_a_slider_chart_says_what_a_test_needs_to_check_it():
    check = slider()["usermeta"]["gpucalc"]
    assert check["x"] == "context" and [line["law"] for line in check["lines"]] == ["kv_bytes", "kv_bytes"]
    given = check["lines"][1]["given"]
    assert given["cache_element_bytes"] == 1 and "batch" not in given and "context" not in given
    assert Case.of({**given, "batch": 2, "context": 3})(kv_cache.kv_bytes) == 65_536 * 6


def test_a_law_that_stands_for_an_input_is_kept_in_the_check():
    case = Case(model="Llama-3-8B", prompt=2000, output=1000, context=serving.mean_context)
    check = charts.slider_chart(case, {"cache": kv_cache.kv_bytes}, "batch", [1, 2], {}, "It grows.", "bytes").to_dict()["usermeta"]["gpucalc"]
    assert check["lines"][0]["given"]["context"] == {"law": "mean_context"}


def test_sliders_carry_name_range_and_start():
    [parameter] = slider()["params"]
    assert (parameter["name"], parameter["value"]) == ("batch", 32)
    assert (parameter["bind"]["min"], parameter["bind"]["max"], parameter["bind"]["step"]) == (1, 128, 1)


def test_a_crossing_moves_with_the_sliders():
    drawn = charts.slider_chart(CASE, {"cache": kv_cache.kv_bytes}, "context", [512, 1024], {"batch": (1, 128, 1, 32)}, "It grows.",
                                "bytes", crossing=(kv_cache.kv_bytes, {"context": 1})).to_dict()
    place, kept = drawn["layer"][-1]["transform"]
    assert eval_vega(place["calculate"], batch=2, context=3) == 131_072 * 2 and "<= 1024" in kept["filter"]


PARTS = pd.DataFrame({"who": ["a", "a", "b"], "part": ["big", "small", "big"], "kv_bytes": [3e9, 1e9, 2e9]})


def test_bars_keep_the_order_of_names_and_parts():
    spec = charts.bars(PARTS, "kv_bytes", "who", "part", "a holds most.", "bytes").to_dict()
    assert spec["encoding"]["y"]["sort"] == ["a", "b"] and spec["encoding"]["color"]["scale"]["domain"] == ["big", "small"]
    [rows] = spec["datasets"].values()
    assert [row["place"] for row in rows] == [0, 1, 0]
    turned = charts.bars(PARTS, "kv_bytes", "who", "part", "a holds most.", "bytes", order=["small", "big"], limit=2.5e9).to_dict()
    assert turned["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["small", "big"]
    assert turned["layer"][-1]["data"]["values"] == [{"limit": 2.5e9}]


def test_lines_and_points_have_the_units_of_their_quantities():
    for draw in (charts.lines, charts.scatter):
        spec = draw(PARTS.assign(context=[1, 2, 3]), "context", "kv_bytes", "who", "It grows.", log_x=True).to_dict()
        assert spec["encoding"]["x"]["scale"]["type"] == "log" and "'B'" in spec["encoding"]["y"]["axis"]["labelExpr"]
        assert spec["usermeta"]["alt"] == "It grows."


@pytest.mark.parametrize("channel, at", [(altair.X, "x"), (altair.Y, "y")])
def test_a_rule_crosses_the_axis_it_is_for(channel, at):
    for layer in charts.rule(channel, 5).to_dict()["layer"]:
        assert layer["encoding"][at]["field"] == "limit"


def test_lines_take_dashes_a_limit_and_a_plain_ratio():
    frame = PARTS.assign(context=[1, 2, 3], times=[1, 2, 3])
    layers = charts.lines(frame, "context", "times", "who", "It grows.", y_title="times as fast", dash="part", limit=1).to_dict()["layer"]
    assert layers[0]["encoding"]["strokeDash"]["sort"] == ["big", "small"]
    assert "'B'" not in layers[0]["encoding"]["y"]["axis"]["labelExpr"] and layers[0]["encoding"]["y"]["title"] == "times as fast"
    assert layers[-1]["data"]["values"] == [{"limit": 1}]


def test_tiles_are_coloured_and_marked():
    frame = pd.DataFrame({"gpus": [1, 2], "model": ["b", "a"], "state": ["yes", "no"], "sign": ["+", "-"]})
    spec = charts.tiles(frame, "gpus", "model", "state", "sign", {"no": "red", "yes": "green"}, "Two fit.", "GPUs").to_dict()
    filled, marked = spec["layer"]
    assert spec["usermeta"] == {"alt": "Two fit."} and spec["height"] == 340 and spec["width"] == "container"
    assert filled["encoding"]["color"] == {"field": "state", "type": "nominal", "title": None, "legend": {"columns": 1},
                                           "scale": {"domain": ["no", "yes"], "range": ["red", "green"]}}
    assert (filled["mark"], marked["mark"]) == ({"type": "rect", "stroke": "white"},
                                                {"type": "text", "fontSize": 11, "color": "black"})
    for layer in (filled, marked):
        assert layer["encoding"]["x"] == {"field": "gpus", "type": "ordinal", "title": "GPUs", "axis": {
            "format": ".0f", "labelAngle": -90, "labelOverlap": False}}
        assert layer["encoding"]["y"] == {"field": "model", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 110}}
    assert marked["encoding"]["text"] == {"field": "sign", "type": "nominal"}


def test_a_rule_is_a_dashed_line_with_a_white_edge():
    white, black = charts.rule(altair.Y, 5).to_dict()["layer"]
    assert white["mark"] == {"type": "rule", "color": "white", "strokeWidth": 4}
    assert black["mark"] == {"type": "rule", "color": "black", "strokeWidth": 2, "strokeDash": [6, 4]}


@pytest.mark.parametrize("channel, end", [(altair.X, "x"), (altair.Y, "y")])
def test_ticks_of_an_axis(channel, end):
    """Bytes take a prefix on the tick, hours none; a log axis labels 1, 2 and 5, or 1 where it spans over 2,000."""
    straight = charts.axis(channel, "size", "kv_bytes", "bytes").to_dict()
    assert straight["axis"] == {"grid": True, "tickCount": 6, "labelExpr": (
        "replace(format(datum.value, '.3~s'), regexp('([a-zA-Zµ]?)$'), ' $1') + 'B'")}
    assert (straight["field"], straight["type"], straight["title"]) == ("size", "quantitative", "bytes")
    log = charts.axis(channel, "days", "training_days", "days", log=True).to_dict()
    digit = "round(pow(10, (log(datum.value) / LN10) - floor((log(datum.value) / LN10) + 1e-9)))"
    label = "replace(format(datum.value, ',~r'), regexp('([a-zA-Zµ]?)$'), ' $1') + ''"
    ends = f"domain('{end}')"
    assert log["axis"] == {"grid": True, "labelOverlap": "greedy", "labelSeparation": 4, "labelExpr": (
        f"indexof({ends}[1] / {ends}[0] > 2000 ? [1] : [1, 2, 5], {digit}) >= 0 ? {label} : ''")}
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


def plain(spec):
    """The encodings of a chart without the ticks, which have a test of their own."""
    found = spec["encoding"]
    return found | {name: {key: value for key, value in found[name].items() if key != "axis"} for name in "xy"}


def test_a_chart_is_finished():
    spec = charts.scatter(PARTS.assign(context=[1, 2, 3]), "context", "kv_bytes", "who", "says").to_dict()
    assert (spec["width"], spec["height"], spec["autosize"]) == ("container", 340, {"type": "fit-x", "contains": "padding"})
    assert spec["config"]["legend"] == {"orient": "bottom", "columns": 2, "labelLimit": 320}


def test_encodings_of_lines_and_points():
    """What has no title has its quantity's meaning; what has no sort keeps the order of its rows."""
    frame = PARTS.assign(context=[1, 2, 3], who=["b", "a", "a"])
    x = {"field": "context", "type": "quantitative", "title": "tokens in the context", "scale": {}}
    y = {"field": "kv_bytes", "type": "quantitative", "title": "cache bytes of a batch", "scale": {}}
    who = {"field": "who", "type": "nominal", "title": None, "sort": ["b", "a"]}
    line = charts.lines(frame, "context", "kv_bytes", "who", "says").to_dict()
    dots = charts.scatter(frame, "context", "kv_bytes", "who", "says", tooltip=("who", "part")).to_dict()
    assert line["mark"] == {"type": "line", "strokeWidth": 2.5, "point": False} and dots["mark"] == {"type": "circle", "size": 60}
    assert plain(line) == {"x": x, "y": y, "color": who}
    assert plain(dots) == {"x": x, "y": y, "color": who,
                           "tooltip": [{"field": name, "type": "nominal"} for name in ("who", "part")]}
    for draw in (charts.lines, charts.scatter):
        spec = draw(frame, "context", "kv_bytes", "who", "says", x_title="left", y_title="up", log_x=True, log_y=True).to_dict()
        both = plain(spec)
        assert [both[name]["title"] for name in "xy"] == ["left", "up"]
        assert [both[name]["scale"] for name in "xy"] == [{"type": "log", "nice": False}, {"type": "log", "nice": True}]
    marked = charts.lines(frame, "context", "kv_bytes", "who", "says", points=True, sort=["a", "b"], dash="part").to_dict()
    assert marked["mark"]["point"] is True and marked["encoding"]["color"]["sort"] == ["a", "b"]
    assert marked["encoding"]["strokeDash"] == {"field": "part", "type": "nominal", "legend": None, "sort": ["big", "small"]}


def test_encodings_of_bars():
    spec = charts.bars(PARTS, "kv_bytes", "who", "part", "says", "bytes").to_dict()
    assert spec["mark"] == {"type": "bar"} and plain(spec) == {
        "x": {"field": "kv_bytes", "type": "quantitative", "title": "bytes", "scale": {}},
        "order": {"field": "place", "type": "ordinal"},
        "y": {"field": "who", "type": "nominal", "title": None, "sort": ["a", "b"]},
        "color": {"field": "part", "type": "nominal", "title": None, "sort": ["big", "small"],
                  "scale": {"domain": ["big", "small"]}}}
    assert spec["encoding"]["y"]["axis"] == {"labelLimit": 165}
    assert charts.bars(PARTS, "kv_bytes", "who", "part", "", "", room=90).to_dict()["encoding"]["y"]["axis"] == {"labelLimit": 90}


def test_layers_of_a_slider_chart():
    spec = charts.slider_chart(CASE, {"cache": kv_cache.kv_bytes, "one": kv_cache.sequence_kv_bytes}, "context", [512, 1024],
                               {"batch": (1, 128, 1, 32)}, "", "bytes", log_x=True).to_dict()
    assert spec["data"] == {"values": [{"context": 512}, {"context": 1024}]}
    assert [each["as"] for each in spec["transform"]] == ["kv_bytes_0", "sequence_kv_bytes_1"]
    for layer, field, label in zip(spec["layer"], ("kv_bytes_0", "sequence_kv_bytes_1"), ("cache", "one")):
        assert layer["mark"] == {"type": "line", "strokeWidth": 2.5}
        assert plain(layer) == {
            "x": {"field": "context", "type": "quantitative", "title": "tokens in the context",
                  "scale": {"type": "log", "nice": False}},
            "y": {"field": field, "type": "quantitative", "title": "bytes", "scale": {}},
            "color": {"datum": label, "title": None}}
    assert [bound["bind"]["name"] for bound in spec["params"]] == ["sequences served together (batch) "]
    rent = charts.slider("usd_per_hour", 0, 9, 0.5, 2).param.to_dict()
    assert rent == {"name": "usd_per_hour", "value": 2, "bind": {
        "input": "range", "min": 0, "max": 9, "step": 0.5, "name": "price of one rented GPU-hour, USD/h (usd_per_hour) "}}
