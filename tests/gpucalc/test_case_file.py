"""A case of a job from a file: every fault on a line of its own, the same case back, and nothing that is guessed."""
import math
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from gpucalc import Case
from gpucalc.core.quantities import DATA, DOMAINS, QUANTITIES
from gpucalc.decisions import answer, answer_words, points
from gpucalc.rows import case_file, price_book, tables
from gpucalc.rows.case_file import as_yaml, case_of, read_case
from gpucalc.rows.files import hidden
from gpucalc.rows.tables import rows
from tests import edges

CASES = sorted((DATA / "cases").glob("*.yaml"))
SERVE = "job: serve\nmodel: Llama-3-8B\nrequests_per_second: 1\n"
TRAIN = "job: pretrain\nmodel: Llama-2-7B\ntraining_tokens: 1e12\n"
NAMES = {job: ", ".join(["job", *row["needs"].replace("|", " ").split(), *row["takes"].split()]) for job, row in tables.rows("jobs").items()}
JOBS = ", ".join(NAMES)
RATE = "a number above 0 1/second (requests a second), such as 16.7"
PROMPT = "a whole number of at least 1 (tokens in the prompt), such as 2048"
BYTES = "a number of at least 0 byte (bytes of the training data), such as 5e+11"
TERMS = "on-demand, spot, reserved-1y, reserved-3y, reserved, capacity-block, serverless, marketplace, managed"
CARDS = "any, or full names of data/gpus.csv with commas between"
NAME = "any, or a name of 1 to 100 characters without control and invisible ones"
SIZE = "0, or from 1 to 1e+18 byte (bytes of the training data)"
NO_TEXT = ", without quotes and without a unit"


@pytest.fixture
def written(tmp_path):
    """The path of a file with this text."""
    def of(text, name="mine.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path
    return of


def faults(path):
    """What is wrong, a line a fault, without the path that opens each."""
    with pytest.raises(ValueError) as error:
        read_case(path)
    lines = str(error.value).split("\n")
    assert all(line.startswith(f"{path}: ") for line in lines)
    return [line.removeprefix(f"{path}: ") for line in lines]


@pytest.mark.parametrize(("text", "expected"), [
    ("model: Llama-3-8B", [f"job: missing; allowed: {JOBS}"]),
    ("job: srve", ["job: data/jobs.csv has no job 'srve'; close: serve; see all in that file"]),
    ("job: 3", ["job: 3; allowed: text"]),
    ("job: [serve]", ["job: ['serve']; allowed: text"]),
    ("job: serve", ["model: missing; the job serve needs it",
                    "requests_per_second (requests a second) or daily_users (people who use it on a day): missing; the job serve "
                    "needs one of them"]),
    ("job: pretrain\nmodel: Llama-2-7B", ["training_tokens (training tokens): missing; the job pretrain needs it"]),
    ("job: rent_or_buy", ["gpu: missing; the job rent_or_buy needs it"]),
    (SERVE + "promt: 1000", [f"promt: unknown; allowed: {NAMES['serve']}; close: prompt, prompt_p95, prompt_chunk"]),
    (SERVE + "zzz: 1000", [f"zzz: unknown; allowed: {NAMES['serve']}"]),
    (SERVE + "'': 1", [f"'': unknown; allowed: {NAMES['serve']}"]),
    (SERVE + "training_tokens: 5", [f"training_tokens: not for the job serve; allowed: {NAMES['serve']}; close: turn_tokens"]),
    *((SERVE + f"late_share: {value}", [f"late_share: {value}; allowed: from 1e-06 to 0.5 (share of requests that may be later (0.05 for p95))"])
      for value in (1, 0.51)),
    ("job: grpo\nmodel: Llama-3-8B\nrollout_steps: 9\noutput: 300\noutput_p95: 900\ngroup_size: 1",
     ["group_size: 1; allowed: from 2 to 1,000,000 (answers to each prompt)"]),
    (TRAIN + "late_share: 0.01", [f"late_share: not for the job pretrain; allowed: {NAMES['pretrain']}"]),
    (SERVE + "gpu: H100 SXM 80GB", [f"gpu: not for the job serve; allowed: {NAMES['serve']}; close: cards, own_cards"]),
    (SERVE + "own_cards: 2", ["cards: any; allowed with own_cards: one GPU, the one that you have"]),
    (SERVE + "own_cards: 2\ncards: [H100 SXM 80GB, L4 24GB]", ["cards: ['H100 SXM 80GB', 'L4 24GB']; allowed with own_cards: one GPU, the one that you have"]),
    (SERVE + "usd_per_kwh: 0.1", ["own_cards (GPUs that you have): missing; usd_per_kwh needs it"]),
    (SERVE + "daily_users: 50", ["requests_per_second and daily_users: both given; allowed: one of them"]),
    (SERVE + "messages_per_day: 5", ["requests_per_second and messages_per_day: both given; allowed: one of them"]),
    ("job: images\nmodel: Llama-2-7B\nimages_per_day: 5\nwindow_requests: 5",
     ["images_per_day and window_requests: both given; allowed: one of them"]),
    (SERVE.replace("-8B", "-9B"),
     ["model: data/models.csv has no model 'Llama-3-9B'; close: Llama-3-8B, Llama-3-70B, Llama-3.2-1B; see all in that file"]),
    (SERVE + "cards: H100", ["cards: gpu 'H100' may be H100 SXM 80GB | H100 PCIe 80GB | H100 NVL 94GB; allowed: one of them"]),
    (SERVE + "cards: [H100 SXM 80GB, H200]", ["cards: gpu 'H200' may be H200 SXM 141GB | H200 NVL 141GB; allowed: one of them"]),
    (SERVE + "cards: any, H100 SXM 80GB", [f"cards: 'any'; allowed: {CARDS}"]),
    (SERVE + "cards: T4 16GB,, L4 24GB", [f"cards: ''; allowed: {CARDS}"]),
    (SERVE + "cards: T4 16GB, T4 16GB", ["cards: 'T4 16GB' is there twice; allowed: each once"]),
    (SERVE + "cards: []", ["cards: []; allowed: text, or a list of texts"]),
    (SERVE + "cards: [1]", ["cards: [1]; allowed: text, or a list of texts"]),
    (SERVE + "cards: {a: b}", ["cards: {'a': 'b'}; allowed: text, or a list of texts"]),
    (SERVE + "region: [a]", ["region: ['a']; allowed: text"]),
    (SERVE + "ways: lease", ["ways: 'lease'; allowed: any, or some of rent, own, api with commas between"]),
    (SERVE + "term: weekly", [f"term: 'weekly'; allowed: {TERMS} or any"]),
    (SERVE + "term: reserve", [f"term: 'reserve'; allowed: {TERMS} or any; close: reserved-1y, reserved-3y, reserved"]),
    (SERVE + "provider: ' '", [f"provider: ' '; allowed: {NAME}"]),
    (SERVE + f"region: {'x' * 101}", [f"region: '{'x' * 57}...'; allowed: {NAME}"]),
    (SERVE + "weight_format: 8", ["weight_format: 8; allowed: text"]),
    (SERVE + "weight_format: FP9", ["weight_format: data/formats.csv has no weight_format 'FP9'; close: FP8, FP32, FP16; see all in that "
                                    "file"]),
    (TRAIN + "recipe: adam", ["recipe: data/recipes.csv has no recipe 'adam'; close: fp32-adamw, mixed-adamw, mixed-adamw-host, "
                              "mixed-adamw-fp32-grads; see all in that file"]),
    (SERVE + "prompt:", [f"prompt: blank; allowed: {PROMPT}, or no line of that name"]),
    (SERVE + "term:", ["term: blank; allowed: text, or no line of that name"]),
    (SERVE + "prompt: 0", [f"prompt: 0; allowed: {PROMPT}"]),
    (SERVE + "prompt: 1.5", [f"prompt: 1.5; allowed: {PROMPT}"]),
    (SERVE + "prompt: true", [f"prompt: True; allowed: {PROMPT}"]),
    (SERVE + "prompt: [1000]", [f"prompt: [1000]; allowed: {PROMPT}"]),
    (SERVE + "prompt: {law: mean_context}", [f"prompt: {{'law': 'mean_context'}}; allowed: {PROMPT}"]),
    (SERVE + "prompt: 1_000", [f"prompt: '1_000'; allowed: {PROMPT}{NO_TEXT}"]),
    (SERVE + "prompt: '1000'", [f"prompt: '1000'; allowed: {PROMPT}{NO_TEXT}"]),
    (SERVE + "prompt: '1e9 '", [f"prompt: '1e9 '; allowed: {PROMPT}{NO_TEXT}"]),
    (TRAIN + "corpus_bytes: 10 GB", [f"corpus_bytes: '10 GB'; allowed: {BYTES}{NO_TEXT}"]),
    (TRAIN + "corpus_bytes: -1", [f"corpus_bytes: -1; allowed: {BYTES}"]),
    (TRAIN + "corpus_bytes: .nan", [f"corpus_bytes: nan; allowed: {BYTES}"]),
    (TRAIN + "corpus_bytes: .inf", [f"corpus_bytes: inf; allowed: {SIZE}"]),
    (TRAIN + "corpus_bytes: -.inf", [f"corpus_bytes: -inf; allowed: {SIZE}"]),
    (TRAIN + "corpus_bytes: 1e300", [f"corpus_bytes: 1e+300; allowed: {SIZE}"]),
    (TRAIN + "corpus_bytes: 1e-30", [f"corpus_bytes: 1e-30; allowed: {SIZE}"]),
    (TRAIN + f"corpus_bytes: 1{'0' * 300}", [f"corpus_bytes: a whole number of about 301 digits; allowed: {SIZE}"]),
    ("job: rent_or_buy\ngpu: T4 16GB\nyears: 101", ["years: 101; allowed: from 0.01 to 100 year (years of use)"]),
    (SERVE + f"prompt: {'a' * 4000}", [f"prompt: '{'a' * 56}...; allowed: {PROMPT}{NO_TEXT}"]),
    (SERVE + "sure: 0.7", ["sure: 0.7; allowed: 0.5, 0.8, 0.9, 0.95"]),
    (SERVE + "sure: high", ["sure: 'high'; allowed: 0.5, 0.8, 0.9, 0.95"]),
])
def test_a_fault_is_named(written, text, expected):
    assert faults(written(text)) == expected


@pytest.mark.parametrize("text, name, value", [
    (TRAIN + "corpus_bytes: 1e18", "corpus_bytes", 1e18), (TRAIN + "corpus_bytes: 1", "corpus_bytes", 1), (TRAIN + "corpus_bytes: 0", "corpus_bytes", 0),
    ("job: rent_or_buy\ngpu: T4 16GB\nyears: 100", "years", 100), (SERVE + "sure: 0.95", "sure", 0.95), (SERVE + "drafted: 0", "drafted", 0)])
def test_the_ends_of_what_is_allowed_are_read(written, text, name, value):
    assert read_case(written(text)).inputs[name] == value


def test_all_faults_are_named_at_once(written):
    text = "job: serve\nmodel: Llama-9\ncards: H1000\nprompt: 1 kB\noutput: 0\npromt: 3\nsequence: 4\nterm: hourly\nsure: 1\nprovider:\n"
    found = faults(written(text))
    assert [line.partition(": ")[0] for line in found] == [
        "model", "cards", "prompt", "output", "promt", "sequence", "term", "sure", "provider",
        "requests_per_second (requests a second) or daily_users (people who use it on a day)"]


@pytest.mark.parametrize(("text", "problem"), [
    ("", "line 1, column 1: the file is empty; allowed: names and values, such as batch: 32"),
    ("- serve", "line 1, column 1: no names; allowed: names and values, such as batch: 32"),
    ("job: !!python/name:os.system x", "line 1, column 6: the tag tag:yaml.org,2002:python/name:os.system; allowed: plain values"),
    ("job: &a serve\nmodel: *a", "line 1, column 6: an anchor or alias; allowed: each value written out"),
    ("job: serve\njob: batch", "line 2, column 1: the name job a second time; allowed: each once"),
    ("job: serve\nregion: eu\u202e", "line 2, column 9: the character U+202E; allowed: text without control and invisible characters"),
    ("job: serve\npro\u200bmpt: 3", "line 2, column 1: the character U+200B; allowed: text without control and invisible characters"),
    ("job: serve\nprompt: 1e999", "line 2, column 9: 1e999; allowed: numbers up to 1.8e308"),
])
def test_what_is_no_plain_yaml_is_refused(written, text, problem):
    path = written(text)
    with pytest.raises(ValueError) as error:
        read_case(path)
    assert str(error.value) == f"{path}, {problem}"


@pytest.mark.parametrize(("held", "expected"), [
    ([], "[]; allowed: names and values"),
    ({"job": "serve", "model": "Llama-3-8B", "requests_per_second": math.nan}, f"requests_per_second: nan; allowed: {RATE}"),
    ({"job": "serve", "model": "Llama-3-8B", "daily_users": 10**5000},
     "daily_users: a whole number of about 5001 digits; allowed: from 1 to 10,000,000,000 (people who use it on a day)"),
    ({"job": "serve", "model": "Llama-3-8B", "daily_users": 1, "region": "a\u202eb"}, f"region: 'a<U+202E>b'; allowed: {NAME}"),
    ({"job": "serve", "model": "Llama-3-8B", "daily_users": 1, "x\u202ey": 1}, f"x<U+202E>y: unknown; allowed: {NAMES['serve']}"),
    ({"job": "serve", "model": "Llama-3-8B", "daily_users": 1, 7: 1}, f"7: unknown; allowed: {NAMES['serve']}"),
    ({"job": None}, "job: blank; allowed: text, or no line of that name"),
])
def test_plain_values_are_held_to_the_same(held, expected):
    with pytest.raises(ValueError) as error:
        case_of(held)
    assert str(error.value) == expected
    with pytest.raises(ValueError) as error:
        case_of(held, "index.html")
    assert str(error.value) == f"index.html: {expected}"


def test_every_quantity_that_a_case_may_give_has_a_least_and_a_most():
    assert set(tables.rows("ranges")) == set(edges.given())
    for name, row in tables.rows("ranges").items():
        least, most = row["least"], row["most"]
        low, _, high, _ = DOMAINS[QUANTITIES[name].allowed]
        assert low <= least <= most <= high and 1e-6 <= least and most <= 1e18 and math.isfinite(most), name
        assert least <= QUANTITIES[name].example <= most or not QUANTITIES[name].example, name


def test_what_lies_outside_is_refused_by_name():
    for name, held, fits in edges.cases():
        if fits:
            assert case_of(held)
        else:
            with pytest.raises(ValueError, match=rf"^{name}: .*; allowed: ") as refused:
                case_of(held)
            assert max(map(len, str(refused.value).split("\n"))) < 200, name


@pytest.mark.long
def test_no_load_is_so_large_or_small_that_its_answer_is_not_found(monkeypatch):
    """An answer or a reason at both ends of every quantity, and no number of replicas takes more than 64 rounds."""
    monkeypatch.setenv("GPUCALC_STORE", "")
    book, rounds = price_book.prices(), []

    def counted(*given):
        rounds.append(0)
        return least(*given)

    def halved(value):
        rounds[-1] += 1
        return floor(value)
    least, floor = points._least, points.floor
    with (patch.object(points, "_least", counted), patch.object(points, "floor", halved),
          patch.object(answer, "helping", lambda *given: [])):    # the same chains again
        for name, held, fits in edges.cases():
            if fits and held["job"] != "rent_or_buy":
                found = answer.answer(case_of(held), book)
                assert answer_words.told(found, book).headline, name
                assert found.best is None or 0 < found.best[found.objective] < math.inf, (name, held)
    assert 1 < max(rounds) <= points.ROUNDS


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("any"),
                      lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2), max_leaves=4)
KNOWN = st.sampled_from(sorted({name for names in NAMES.values() for name in names.split(", ")} - {"job", "model"}))


@settings(max_examples=300, deadline=None)
@given(job=st.sampled_from(sorted(NAMES)), held=st.dictionaries(KNOWN | st.text(max_size=10), VALUES, max_size=6))
def test_whatever_is_given_is_a_case_or_lines_that_can_be_read(job, held):
    try:
        case = case_of({"job": job, "model": "Llama-3-8B", **held}, "mine.yaml")
    except ValueError as error:
        assert all(line.startswith("mine.yaml: ") and not hidden(line) for line in str(error).split("\n"))
    else:
        assert as_yaml(case).startswith("job: ")


# What is read

def test_what_is_not_given_is_the_jobs(written):
    case = read_case(written(SERVE))
    used = {used.name: used for used in case.explain("mean_context").inputs}
    assert used["prompt"].value == 1000 and used["prompt"].source.startswith("serve; data/jobs.csv: ")
    assert read_case(written(SERVE + "prompt: 5\noutput: 2"))("mean_context") == 6
    assert read_case(written(TRAIN)).rows["recipe"].name == "mixed-adamw-fp32-grads"
    assert read_case(written(TRAIN + "recipe: muon")).rows["recipe"].name == "muon"


def test_users_and_images_become_a_load(written):
    case = read_case(written("job: serve\nmodel: Llama-3-8B\ndaily_users: 36000\nmessages_per_day: 8\nbusiest_hour_share: 0.1"))
    assert case("requests_per_second") == pytest.approx(8) and case("mean_requests_per_month") == pytest.approx(288_000 * 730 / 24)
    case = read_case(written("job: images\nmodel: Llama-2-7B\nimages_per_day: 240\noutput: 5\nwindow_hours: 3"))
    assert case("window_tokens") == 150


def test_counts_are_whole_and_lists_are_joined(written):
    case = read_case(written(TRAIN + "gpus: 64.0\ncards: [T4 16GB, 'L4 24GB ']\nways: [own]"))
    assert case.inputs == {"training_tokens": 10**12, "gpus": 64}
    assert all(type(value) is int for value in case.inputs.values())
    assert case.rows["cards"].name == "T4 16GB, L4 24GB" and case.rows["ways"].name == "own"


@pytest.mark.parametrize("value", case_file.SURE)
def test_how_sure(written, value):
    assert read_case(written(SERVE + f"sure: {value}")).inputs["sure"] == value


def test_a_model_of_a_stranger_lies_beside_the_case(written, tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    shutil.copy(Path(__file__).parents[1] / "configs/Mistral-7B.json", tmp_path / "models/theirs.json")
    path = written(SERVE.replace("Llama-3-8B", "models/theirs.json"))
    monkeypatch.chdir("/")
    case = read_case(path)
    assert case("params") == 7_241_732_096
    again = read_case(written(as_yaml(case), "again.yaml"))
    assert repr(again) == repr(case) and again.rows == case.rows
    assert faults(written(SERVE.replace("Llama-3-8B", "no.json"))) == [f"model: {tmp_path / 'no.json'}: No such file or directory"]


# What is written

@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_of_the_book_reads_and_comes_back(path, written):
    assert path.read_text(encoding="utf-8").startswith("# ") and "?" in path.read_text(encoding="utf-8").split("\n")[0]
    case = read_case(path)
    again = read_case(written(as_yaml(case)))
    assert (again.rows, again.inputs, repr(again)) == (case.rows, case.inputs, repr(case))
    assert as_yaml(case).startswith("job: ")


def test_the_book_has_its_cases():
    assert {path.stem for path in CASES} == set(
        "two_million_train two_million_serve researcher_2000 chat_70b qlora_s3 tokens_100b house_or_api four_cards three_on_one "
        "million_images pretrain_405b deadline_7b lab_rtx6000 tune_8b_24gb own_8_h100 gpt_oss_api deepseek_nodes grpo_32b".split())
    assert {read_case(path).rows["job"]["kind"] for path in CASES} == {"train", "serve", "offline", "own"}


@pytest.mark.parametrize("name", ["null", "True", "1e5", "010", "a: b", "# x", "- x", "\"", "'", "x\\n", "Zürich", "é é", "a #b", "[x]", "~", "x"])
def test_any_text_comes_back(written, name):
    case = case_of({"job": "serve", "model": "Llama-3-8B", "daily_users": 10 * (0.1 + 0.2), "provider": name, "usd_per_month": 1e11})
    again = read_case(written(as_yaml(case)))
    assert again.rows["provider"].name == name and again.inputs == case.inputs


def test_what_is_the_jobs_own_is_not_written(written):
    assert as_yaml(read_case(written(TRAIN))) == "job: pretrain\nmodel: Llama-2-7B\ntraining_tokens: 1000000000000\n"


@pytest.mark.parametrize(("case", "message"), [
    (lambda: Case(model="Llama-3-8B"), "^job: missing; allowed: a case with one$"),
    (lambda: Case({"a": 1}, job="serve"), "^row 0: has no name to write; allowed: rows as they stand in the catalogue$"),
    (lambda: Case(job="serve", prompt="mean_context"), "^prompt: 'mean_context'; allowed: a number$"),
])
def test_what_a_file_does_not_hold_is_not_written(case, message):
    with pytest.raises(ValueError, match=message):
        as_yaml(case())


def test_a_model_that_the_page_packed():
    held = {"job": "serve", "model": "mine", "requests_per_second": 1}
    row = {name: value for name, value in tables.rows("models")["Llama-3-8B"].items() if value == value and "," not in str(value)}
    packed = ",".join(f"{name}:{value}" for name, value in row.items() if name in tables.TABLES["models"].columns and name != "name")
    case = case_of(held | {"model_row": packed})
    assert case.rows["model"]["layers"] == 32 and case.rows["model"].name == "mine"
    assert case_of(yaml.safe_load(as_yaml(case))).rows["model"] == case.rows["model"]


@pytest.mark.parametrize("packed", ["layers", "layers:many", "evil:3", "layers:80,hidden:1e30", 3])
def test_a_packed_model_that_is_none(packed):
    with pytest.raises(ValueError, match="allowed"):
        case_of({"job": "serve", "model": "mine", "requests_per_second": 1, "model_row": packed})


def test_rents_are_a_file_of_their_own():
    with pytest.raises(ValueError, match="PRICES=mine.csv"):
        case_of({"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "rents": "gpu,usd_per_hour"})


def test_a_plain_name_is_a_row_s_whatever_stands_beside_the_file(tmp_path):
    folder = tmp_path / "Llama-3-8B"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[1] / "configs/Qwen3-8B.json", folder / "config.json")
    for model, found in (("Llama-3-8B", "Llama-3-8B"), ("./Llama-3-8B", "Qwen3-8B"), ("Llama-3-8B/config.json", "Qwen3-8B")):
        (tmp_path / "case.yaml").write_text(f"job: serve\nmodel: {model}\nrequests_per_second: 1\n")
        assert read_case(tmp_path / "case.yaml").rows["model"]["layers"] == rows("models")[found]["layers"]
