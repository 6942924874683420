"""Names and cases as people write them: 120 names, as names.csv has them, and 60 lines of free words, as free_words.csv has them."""
import csv
import re
from pathlib import Path

import pytest

from gpucalc import Case
from gpucalc.__main__ import main
from gpucalc.core.quantities import DATA
from gpucalc.rows import catalogue, free_words, names
from gpucalc.rows.case_file import case_of
from gpucalc.rows.mapping import read_mapping
from tests.each import of_each

NAMES = list(csv.DictReader((Path(__file__).parent / "names.csv").read_text().splitlines()))

LINES = list(csv.DictReader((Path(__file__).parent / "free_words.csv").read_text().splitlines()))
# Cases of data/cases that the presets are.
CASES = {"70B chat": "chat_70b", "Tune an 8B on one 24 GB card": "tune_8b_24gb", "Pre-train a 7B": "deadline_7b",
         "Rent or buy 8 H100": "own_8_h100"}


def told(found):
    """What a name gives, as names.csv has it."""
    if found.sure:
        return found.names[0]
    return f"ambiguous: {' | '.join(sorted(found.names))}" if found.names else "unknown"


def wanted(row):
    kind, mark, several = row["gives"].partition(": ")
    return f"{kind}: {' | '.join(sorted(several.split(' | ')))}" if mark else row["gives"]


@of_each({(row["kind"], row["name"]): row for row in NAMES})
def test_a_name_as_people_write_it(row):
    found = names.meant(row["kind"], row["name"])
    assert (told(found), found.stored, str(found.number or "")) == (wanted(row), row["format"], row["count"])


def test_half_of_the_names_are_of_hugging_face_and_no_rows_of_their_own():
    assert len(NAMES) == 120 and sum("/" in row["name"] for row in NAMES) >= 60
    assert not [row["name"] for row in NAMES if row["name"] in (*catalogue.models().index, *catalogue.gpus().index)]


@pytest.mark.parametrize("kind", ["model", "gpu", "weight_format"])
def test_each_row_is_called_by_its_own_name_in_any_spelling(kind):
    for key in {"model": catalogue.models, "gpu": catalogue.gpus, "weight_format": catalogue.formats}[kind]().index:
        for name in (key, key.lower(), key.upper().replace(" ", "-"), key.replace("-", " ")):
            assert key in names.meant(kind, name).names, name


@pytest.mark.parametrize(("given", "said"), [
    ({"gpu": "h100"}, "'h100' may be H100 SXM 80GB | H100 PCIe 80GB | H100 NVL 94GB; allowed: one of them"),
    ({"gpu": "2x3090"}, "'2x3090'; allowed: gpu RTX 3090 24GB, with 2 as its number"),
    ({"model": "Qwen/Qwen3-32B-FP8"}, "allowed: model Qwen3-32B, with weight_format FP8"),
    ({"model": "70b"}, "'70b' may be Llama-3.3-70B | Llama-3-70B | Llama-2-70B"),
    ({"model": "llama-3.2-11b-vision"}, "no model 'llama-3.2-11b-vision'; close: Llama-3.2-1B, Llama-3.2-3B, "),
    ({"cards": "h100 sxm, rtx 6000"}, "'rtx 6000' may be RTX PRO 6000 Server 96GB | ")])
def test_what_is_not_sure_is_refused_with_what_it_may_be(given, said):
    with pytest.raises(ValueError) as refused:
        Case(**given)
    assert said in str(refused.value)


def test_a_case_takes_the_format_and_the_count_that_its_names_hold():
    served = case_of(dict(job="serve", model="Qwen/Qwen3-32B-FP8", requests_per_second=1, cards=["h200 sxm", "b200"]))
    assert (served.rows["model"].name, served.rows["weight_format"].name) == ("Qwen3-32B", "FP8")
    assert served.rows["cards"].name == "H200 SXM 141GB, B200 SXM 180GB"
    assert case_of(dict(job="qlora", model="llama 3 8b", training_tokens=1e6, cards="2x3090")).inputs["gpus"] == 2
    assert case_of(dict(job="rent_or_buy", gpu="8x H100 SXM")).inputs["gpus_per_server"] == 8
    # Neither is dropped where the job has no place for it, or says otherwise.
    for other in (dict(cards="2x3090"), dict(model="Qwen3-32B-FP8", weight_format="BF16"), dict(cards="h100")):
        with pytest.raises(ValueError, match="allowed"):
            case_of(dict(job="serve", model="Qwen3-32B", requests_per_second=1) | other)


def plain(value):
    try:
        return float(value)
    except ValueError:
        return value


@of_each({line["words"]: line for line in LINES})
def test_a_line_of_free_words(line):
    read = free_words.understood(line["words"], ["RunPod", "AWS"])
    count = {"gpus": read.count} if read.count and "gpus_per_server" not in read.inputs else {}
    wanted = {name: plain(value) for name, value in (pair.split("=", 1) for pair in line["gives"].split("; "))}
    assert {name: plain(value) for name, value in (read.inputs | count).items()} == pytest.approx(wanted)
    # What nobody understood is said, and nothing else.
    assert "; ".join(read.left) == line["left"].lower()
    case_of(free_words.begun(read.usual | read.inputs))


@pytest.mark.parametrize("title", free_words.PRESETS)
def test_a_preset_is_a_line_of_free_words(title):
    read = free_words.understood(free_words.PRESETS[title], [])
    assert read.inputs == pytest.approx(read_mapping(DATA / "cases" / f"{CASES[title]}.yaml"))
    assert (read.left, read.asks, read.granted) == ([], [], [])


@pytest.mark.parametrize(("line", "left"), [
    ("llama 3.3 70b at 1000 tokens per second", "1000 tokens per second"), ("1B tokens per day on gpt-oss-120b", "1b tokens per day"),
    ("i don't want h100, llama 3.3 70b", "don't want h100"), ("gemma 3 12b at most $2 an hour", "at most $2 an hour"),
    ("llama 3.3 70b or qwen3 32b", "qwen3 32b"), ("phi-4 with 10k examples", "10k examples"), ("70b on h1oo", "h1oo"),
    ("3 rps, 5 rps of phi-4", "5 rps"), ("serve phi-4 85 % sure", "85 % sure")])
def test_what_is_not_understood_is_said_and_changes_nothing(line, left):
    read = free_words.understood(line, [])
    assert read.left == [left] and {*read.inputs} <= {"job", "model", "requests_per_second"}


def test_the_command_asks_in_words(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["gpucalc", "ask", "llama 3.3 70b,", "4", "requests a second on h200 with green tea"])
    assert main() == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Understood: job serve · cards H200 SXM 141GB, H200 NVL 141GB · requests_per_second 4 · model Llama-3.3-70B." in said
    assert "Taken for granted: prompt 1000 · output 300" in said and "Not understood: green tea." in said
    assert "Which “h200”? any of them is taken" in said and "What does it take to serve Llama-3.3-70B at 4 requests a second" in said
    monkeypatch.setattr("sys.argv", ["gpucalc", "ask", "llama 3.3 70b in fp8, 4 requests a second on h100 for $2.95 an hour"])
    assert main() == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "A quote: 2.95 USD/h for one h100, on demand. It joins the prices of the book." in said and "Not understood" not in said
    assert re.search(r"2\.95 USD/h for one H100 SXM 80GB, on-demand, is number \d+ of \d+ with the book's", said)
    monkeypatch.setattr("sys.argv", ["gpucalc", "ask", "foobar 12b"])
    assert main() == 2 and "no model 'foobar 12b'; close: Gemma-3-12B, " in capsys.readouterr().err
