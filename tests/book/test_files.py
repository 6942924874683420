"""A file is read to its end or refused by name: no pipe, no device, nothing larger than said, nothing hidden in a text."""
import os

import pytest

from book.build.given import check_case, Given
from book.build.inputs import BuildError
from gpucalc.rows import files
from gpucalc.rows.case_file import case_of
from gpucalc.rows.files import content, few, hidden, shortened, text
from gpucalc.rows.price_book import prices


@pytest.fixture
def odd(tmp_path):
    """Paths that are no regular file, by name."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    return {"pipe": tmp_path / "pipe", "link to a device": tmp_path / "zero", "device": "/dev/zero", "folder": tmp_path,
            "loop": tmp_path / "loop", "long name": tmp_path / ("x" * 300), "NUL": "a\0b", "surrogate": "\ud800",
            "absent": tmp_path / "absent"}


@pytest.mark.parametrize(("kind", "message"), [
    ("pipe", "pipe: not a regular file"), ("link to a device", "zero: not a regular file"),
    ("device", "^/dev/zero: not a regular file; allowed: a file"), ("folder", "not a regular file"),
    ("loop", "loop: Too many levels"), ("long name", r"xxx\.\.\.: File name too long"), ("NUL", r"a<U\+0000>b: "),
    ("surrogate", r"^<U\+D800>: "), ("absent", "absent: No such file")])
def test_what_is_no_file_is_never_opened(odd, kind, message, monkeypatch):
    """Who opens a pipe waits for its other end, and who reads /dev/zero does not come to one."""
    opened = []
    monkeypatch.setattr(files, "open", lambda *asked: opened.append(asked), raising=False)
    with pytest.raises(ValueError, match=message):
        text(odd[kind], 100)
    assert opened == []


def test_a_file_has_a_most_of_bytes(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert content(path, 5) == b"12345"
    with pytest.raises(ValueError, match="file: more than 4 bytes; allowed: at most that"):
        content(path, 4)


def test_a_file_that_tells_no_size_has_the_same_most():
    assert os.stat("/proc/self/status").st_size == 0
    with pytest.raises(ValueError, match="^/proc/self/status: more than 10 bytes"):
        content("/proc/self/status", 10)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_only_utf_8_is_text(tmp_path, mark):
    path = tmp_path / "file"
    path.write_bytes(mark + "a\nbéc\n".encode())
    assert text(path, 100) == "a\nbéc\n"
    path.write_bytes(mark + b"a\nb\xe9c\n")
    with pytest.raises(ValueError, match="^file, row 2: byte 0xe9; allowed: JSON"):
        text(path, 100, "JSON")


@pytest.mark.parametrize(("value", "found"), [
    ("", ""), ("plain, é ß 漢 🙂 µ − …", ""), ("no-break\u00a0space", ""), ("a\0", "U+0000"), ("\x1b[31m", "U+001B"),
    ("a\nb", "U+000A"),
    ("a\tb", "U+0009"), ("\u200bH100", "U+200B"), ("H\u202e100", "U+202E"), ("\u2066x", "U+2066"), ("x\ufeff", "U+FEFF"),
    ("a\u2028b", "U+2028"), ("a\u2029b", "U+2029"), ("\ud800", "U+D800"), ("\x85", "U+0085"), ("tag\U000e0041", "U+E0041")])
def test_hidden_characters_are_found(value, found):
    assert hidden(value) == found


def test_of_many_faults_ten_are_named_and_the_rest_counted(tmp_path):
    names, file = [f"name{number}" for number in range(1_000)], tmp_path / "mine.csv"
    file.write_text("gpu,usd_per_hour\n" + "".join(f"{name},1\n" for name in names))
    for refused, more in ((lambda: case_of({"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1} | dict.fromkeys(names, 1)), "990"),
                          (lambda: prices(file), "990"),
                          (lambda: check_case(Given(case=dict.fromkeys(names, 1)), {}), "990")):
        with pytest.raises((ValueError, BuildError)) as error:
            refused()
        lines = [line.strip() for line in str(error.value).splitlines() if "CASE has" not in line]
        assert [name in line for name, line in zip(names, lines)] == [True] * 10 + [False] and lines[10:] == [f"and {more} more faults"]
    assert few(names[:10]) == names[:10]


@pytest.mark.parametrize(("value", "shown"), [
    ("x" * 120, "x" * 120), ("x" * 121, "x" * 117 + "..."), ("a\x1bb", "a<U+001B>b"), ("", "")])
def test_texts_are_shortened_for_a_message(value, shown):
    assert shortened(value) == shown
