"""A file of names and values holds plain values: nothing in it runs, repeats, hides, hangs or is guessed."""
import math

import pytest

from gpucalc.rows.mapping import check_names, read_mapping


@pytest.fixture
def read(tmp_path):
    def of(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return read_mapping(path)
    return of


def test_values_are_plain(read):
    held = read("batch: 32\nshare: 0.5\nname: H100 SXM 80GB\nfree: null\n"
                "on: true\noff: False\nlist: [1, x, {law: kv_bytes}]\nblank:\n")
    assert held == {"batch": 32, "share": 0.5, "name": "H100 SXM 80GB", "free": None, "on": True, "off": False,
                    "list": [1, "x", {"law": "kv_bytes"}], "blank": None}
    assert type(held["batch"]) is int and held["on"] is True and held["off"] is False


@pytest.mark.parametrize(("text", "value"), [
    ("0", 0), ("-3", -3), ("+3", 3), ("1e9", 1e9), ("1.0e+9", 1e9), ("2E-3", 0.002), (".5", 0.5), ("5.", 5.0), ("-0.5", -0.5),
    (".inf", math.inf), ("-.inf", -math.inf), ("1" + "0" * 300, 10**300), ("~", None), ("NULL", None), ("TRUE", True)])
def test_numbers(read, text, value):
    found = read(f"a: {text}")["a"]
    assert found == value and type(found) is type(value)


def test_not_a_number_is_left_to_the_check_of_the_name(read):
    assert math.isnan(read("a: .nan")["a"])


@pytest.mark.parametrize("text", ["010", "1_000", "1:30", "0x10", "0o7", "yes", "no", "on", "off", "y", "nUll", "tRUE",
                                  "2026-01-01", "inf", "nan", "1e", "e9", ".", "--1", "1 000", "١٢"])
def test_what_only_some_readers_take_for_a_number_is_text(read, text):
    assert read(f"a: {text}") == {"a": text}


def test_quoted_numbers_are_text(read):
    assert read("a: '12'\nb: \"true\"\nc: ''\n") == {"a": "12", "b": "true", "c": ""}


def test_names_are_text(read):
    assert read("1: x\ntrue: y\n") == {"1": "x", "true": "y"}


@pytest.mark.parametrize(("text", "message"), [
    ("", "line 1, column 1: the file is empty; allowed: names and values, such as batch: 32"),
    ("# nothing\n", "line 2, column 1: the file is empty"),
    ("---\n", "line 2, column 1: no names; allowed: names and values"),
    ("- a\n- list\n", "line 1, column 1: no names"),
    ("just text", "line 1, column 1: no names"),
    ("a: [1", "line 1, column 6: expected ',' or ']'"),
    ("a: 1\n---\nb: 2\n", "line 2, column 1: a second document; allowed: one"),
    ("a: 1\nb: 2\na: 3\n", "line 3, column 1: the name a a second time; allowed: each once"),
    ("a: {b: 1, b: 1}", "line 1, column 11: the name b a second time"),
    ("a: !!binary aGVsbG8=", "line 1, column 4: the tag tag:yaml.org,2002:binary; allowed: plain values"),
    ("a: !!set {x}", "column 4: the tag .*set; allowed"),
    ("a: !!python/object/apply:os.system [x]", "column 4: the tag .*os.system; allowed"),
    ("a: !x 1", "the tag !x; allowed"),
    ("!!str a: 1", "column 1: the tag"),
    ("a: &x [1]\nb: *x\n", "line 1, column 4: an anchor or alias; allowed: each value written out"),
    ("a: &a [*a]", "column 4: an anchor or alias"),
    ("a: *x", "column 4: an anchor or alias"),
    ("a: &a [1, 1]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi")), "an anchor or alias"),
    ("? [a]\n: 1\n", "line 1, column 3: a name that is no text"),
    ("a: " + "[" * 10_000, "line 1, column 23: more than 20 levels; allowed: at most that"),
    ("".join(" " * depth + "a:\n" for depth in range(300)), "line 21, column 21: more than 20 levels"),
    ("a: " + "1" * 4000, r"column 4: 111.*\.\.\.; allowed: numbers up to 1.8e308"),
    ("a: 1e400", "column 4: 1e400; allowed: numbers up to 1.8e308"),
    ("a: -1e400", "column 4: -1e400; allowed"),
    ("a: " + "x" * 4097, "column 4: 4,097 characters; allowed: at most 4,096"),
    ("a: x\u202ey", r"column 4: the character U\+202E; allowed: text without control and invisible characters"),
    ('a: "\\u202e"', r"column 4: the character U\+202E"),
    ('a: "\\ud800"', r"column 4: the character U\+D800"),
    ('a: "\\0"', r"column 4: the character U\+0000"),
    ('"\\u200b": 1', r"column 1: the character U\+200B"),
    ("a: |\n  x\n  y\n", r"column 4: the character U\+000A"),
    ("a: \0", "unacceptable character .*; allowed: YAML text"),
    ('a: "\\UFFFFFFFF"', "; allowed: YAML text"),
    ('a: "\\U00110000"', "; allowed: YAML text"),
    ("a: 1\n" * 20_001, "more than 100,000 bytes; allowed: at most that"),
])
def test_anything_else_is_refused_quickly_by_name(read, calls, text, message):
    def refused():
        with pytest.raises(ValueError, match=rf"mine\.yaml(, line|: ).*{message}|mine\.yaml, {message}"):
            read(text)
    assert calls(refused) < 10_000 + 5 * len(text)


def test_twenty_levels_and_4096_characters_are_read(read):
    assert str(read("a: " + "[" * 18 + "1" + "]" * 18)["a"]).count("[") == 18
    assert read("a: " + "x" * 4096) == {"a": "x" * 4096}


def test_a_pipe_is_no_file():
    with pytest.raises(ValueError, match="^/dev/zero: not a regular file"):
        read_mapping("/dev/zero")


@pytest.mark.parametrize("held, message", [
    ([1], r"^\[1\]; allowed: name, unit$"), ({"nam": 1}, "^nam: unknown; allowed: name, unit; close: name$"),
    ({"unit": 1}, "^name: missing$")])
def test_names_are_known_and_those_that_are_needed_are_there(held, message):
    with pytest.raises(ValueError, match=message):
        check_names(held, ["name", "unit"], ["name"])
    check_names({"name": 1, "unit": 2}, ["name", "unit"], ["name"])
