"""The command: its figures by hand, every step and source beside them, and one line for whatever it does not understand."""
import csv
import io
import json
import re
import subprocess
import sys

import pytest

from gpucalc import LAWS, QUANTITIES, Case
from gpucalc.cli import KINDS, main, Printed, TABLES
from gpucalc.core.evaluate import FINDERS
from gpucalc.core.figures import number
from gpucalc.rows import catalogue
from gpucalc.rows.choices import CHOICES
from tests import hostile

# 2 x 80 layers x 8 heads x 128 x 2 bytes = 327,680 bytes a token; x 8,192 = 2,684,354,560; x 32 = 85,899,345,920.
CACHE = ["kv_bytes", "--model", "Llama-3-70B", "--gpu", "H100 SXM 80GB", "--context", "8192", "--batch", "32"]


@pytest.fixture
def told(capsys):
    """What the command prints for these words."""
    def of(*given):
        assert main(list(given)) == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        return shown.out
    return of


def test_a_figure_has_its_steps_and_its_sources(told):
    lines = told(*CACHE).splitlines()
    assert lines[:9] == [
        "kv_bytes = 85.9 GB (85,899,345,920 B)",
        "Cache of a batch of sequences of the same length (bytes).", "",
        "KV bytes = sequence KV bytes × batch", "    = 2.68 GB × 32 = 85.9 GB",
        "sequence KV bytes = KV bytes per token × context", "    = 328 kB × 8,192 = 2.68 GB",
        "KV bytes per token = 2 × cached layers × KV heads × head size × cache element bytes",
        "    = 2 × 80 × 8 × 128 × 2 B = 328 kB"]
    assert lines[9:13] == ["cached layers = attention layers", "    = 80", "attention layers = layers", "    = 80"]
    assert lines[14].startswith("Plan for ") and "(weights and cache)" in lines[14] and lines[15].startswith("8 in 10 lie between ")
    inputs = {line.split()[0]: line for line in lines[17:]}
    assert {"index_element_bytes", "state_element_bytes", "activation_element_bytes"}.isdisjoint(inputs)
    assert inputs["context"].split() == ["context", "8,192", "given"]
    assert "2024-04  Llama-3-70B; " in inputs["layers"] and inputs["layers"].split()[1] == "80"
    assert "window" not in inputs and lines[-1] == "Left out: RoPE element bytes, layers per cache."


def test_json_has_full_precision(told):
    shown = json.loads(told(*CACHE, "--json"))
    assert (shown["name"], shown["value"], shown["unit"], shown["text"]) == ("kv_bytes", 85_899_345_920, "byte", "85.9 GB")
    assert [(term["name"], term["value"]) for term in shown["terms"]] == [
        ("sequence_kv_bytes", 2_684_354_560), ("kv_bytes_per_token", 327_680), ("cached_layers", 80), ("attention_layers", 80)]
    inputs = {used["name"]: used for used in shown["inputs"]}
    assert inputs["batch"] == dict(name="batch", value=32, unit="", source="given", date="")
    assert inputs["kv_heads"]["value"] == 8 and inputs["kv_heads"]["date"] == catalogue.model("Llama-3-70B").date


def test_a_figure_says_what_to_plan_for(told):
    given = ["tokens_per_second", "--model", "Llama-3-8B", "--gpu", "H100 SXM 80GB", "--batch", "8", "--context", "4096",
             "--efficiency", "achieved"]
    band = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", batch=8, context=4096, efficiency="achieved").band("tokens_per_second")
    plan, low, high, bound = (number(value, "token/second") for value in (band.plan, band.low, band.high, band.bound))
    assert (f"Plan for {plan}: by {band.rows} published figures of {band.sources} sources (decode),\n"
            f"8 in 10 lie between {low} and {high}; the bound is {bound}.") in told(*given)
    shown = json.loads(told(*given, "--json"))["band"]
    assert (shown["low"], shown["plan"], shown["high"], shown["family"]) == (band.low, band.plan, band.high, "decode")
    assert json.loads(told("blocks_per_sequence", "--context", "8192", "--json"))["band"] is None


def test_csv_has_a_row_for_the_result_each_term_and_each_input(told):
    rows = list(csv.DictReader(told(*CACHE, "--csv").splitlines()))
    assert list(rows[0]) == ["role", "name", "value", "unit", "equation", "numbers", "source", "date"]
    assert float(rows[0]["value"]) == 85_899_345_920 and rows[0]["unit"] == "byte"
    assert [row["role"] for row in rows[:6]] == ["result", *["term"] * 4, "input"]
    assert next(row for row in rows if row["name"] == "layers")["value"] == "80"


def test_infinity_is_text_in_json(told):
    """Owning saves 1 - 2 < 0 an hour: it never pays."""
    given = ["break_even_utilization", "--fixed_usd_per_hour", "1.5", "--work_usd_per_hour=2", "--level_usd_per_hour", "1"]
    assert json.loads(told(*given, "--json"))["value"] == "Infinity"
    assert told(*given).splitlines()[3:5] == ["break even utilization = fixed USD per hour / (level USD per hour − work USD per hour)",
                                              "    = no limit"]


@pytest.mark.parametrize(("text", "count"), [("8_192", 8192), ("8192.0", 8192), ("1e3", 1000), ("+5", 5), (".5e1", 5)])
def test_numbers_are_written_as_in_python(told, text, count):
    shown = json.loads(told("kv_bytes", "--sequence_kv_bytes", "2", f"--batch={text}", "--json"))
    assert shown["value"] == 2 * count


def test_a_formula_stands_for_an_input(told):
    """A mean of 2000 + 1000 / 2 tokens: 2,500 x 327,680 x 32 bytes."""
    shown = told("kv_bytes", "--model", "Llama-3-70B", "--prompt", "2000", "--output", "1000", "--batch", "32",
                 "--context", "law:mean_context")
    assert shown.startswith("kv_bytes = 26.2 GB (26,214,400,000 B)\n") and "\ncontext = mean context\n" in shown


def test_a_row_says_where_a_value_is_taken_from(told):
    """450 GB/s of the GPU, not 50 of the link."""
    shown = told("point_to_point_seconds", "--gpu", "H100 SXM 80GB", "--link", "InfiniBand NDR", "--message_bytes", "450e9",
                 "--latency", "0", "--link_bandwidth", "row:gpu")
    assert shown.startswith("point_to_point_seconds = 1 s\n")


def test_options_overrule_the_file(told, tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text("model: Llama-3-8B\ncontext: 8192\nbatch: 1\n")
    given = ["kv_bytes", "--case", str(path), "--json"]
    assert json.loads(told(*given))["value"] == 131_072 * 8192
    assert json.loads(told(*given, "--batch", "32", "--model", "Llama-3-70B"))["value"] == 85_899_345_920


@pytest.mark.parametrize("given", [[], ["--help"], ["-h"], ["list", "--help"]])
def test_the_usage_fits_a_screen(told, given):
    lines = told(*given).splitlines()
    assert lines[0].startswith("gpucalc FORMULA") and len(lines) <= 24 and max(map(len, lines)) <= 130


def test_lists_have_every_formula_and_row(told):
    assert len(told("list").splitlines()) == len(LAWS)
    found = json.loads(told("list", "kv_cache", "block", "--json"))
    assert "blocks_per_sequence" in {row["name"] for row in found} and {row["topic"] for row in found} == {"kv_cache"}
    for table in TABLES:
        assert told("list", table).splitlines() == list(getattr(catalogue, table)().index)
    assert "H100 PCIe 80GB" in told("list", "gpus", "pcie")
    rows = list(csv.DictReader(told("list", "gpus", "h100", "--csv").splitlines()))
    assert rows[0]["gpu"] == "H100 SXM 80GB" and float(rows[0]["bandwidth"]) == 3.35e12 and rows[0]["fp16_accumulate_flops"] == ""
    assert json.loads(told("list", "gpus", "h100", "--json"))[0]["fp16_accumulate_flops"] is None


def test_what_is_shown_of_a_formula_a_quantity_and_a_row(told):
    formula = told("show", "kv_bytes_per_token")
    assert "from gpucalc import kv_cache; kv_cache.kv_bytes_per_token\n" in formula and "Pope et al. 2022" in formula
    assert re.search(r"\ncache_element_bytes +byte +2 B +bytes of one cached element\n", formula)
    arguments = json.loads(told("show", "kv_bytes_per_token", "--json"))["arguments"]
    assert arguments[0]["name"] == "cached_layers" and arguments[0]["default"] is None and arguments[5]["default"] == 2
    assert "meaning  tokens in the context\n" in told("show", "context")
    assert re.search(r"\nbandwidth +3\.35 TB/s\n", told("show", "gpu", "h100sxm"))
    assert json.loads(told("show", "model", "Llama-3-70B", "--json"))["kv_heads"] == 8


def test_every_formula_can_be_shown(told):
    for name, law in LAWS.items():
        assert [each["name"] for each in json.loads(told("show", name, "--json"))["arguments"]] == list(law.arguments)


def test_no_switch_hides_a_name():
    assert not {"case", "json", "csv", "help", "words", "inputs"} & {*QUANTITIES, *FINDERS}
    assert set(KINDS) == set(TABLES.values()) == set(FINDERS) - (set(CHOICES) - {"job"}) and not {"list", "show", *TABLES} & set(LAWS)


@pytest.mark.parametrize(("given", "expected"), [
    ("kv_byte", "law 'kv_byte': unknown; close: kv_bytes"),
    ("kv_bytes --contxt 3", "--contxt: unknown; close: context"),
    ("kv_bytes --contxt=3", "--contxt=3: unknown; close: context"),
    ("kv_bytes --context 8k", "--context: '8k'; allowed: a number such as 8192 or 80e9, law:NAME or row:KIND"),
    ("kv_bytes --context nan", "--context: 'nan'; allowed: a number"),
    ("kv_bytes --context 1e400", "--context: '1e400'; allowed: a number"),
    ("kv_bytes --context " + "9" * 5000, "--context: '999"),
    ("kv_bytes --context", "--context: expected one argument"),
    ("kv_bytes --context 1 --context 2", "--context: given 2 times; allowed: once"),
    ("kv_bytes --context law:mean_contxt", "--context: law 'mean_contxt': unknown; close: mean_context"),
    ("kv_bytes --context row:gpu", "--context: row:gpu; allowed: a row that is given: none"),
    ("kv_bytes --context 0 --kv_bytes_per_token 2 --batch 1", "context (tokens in the context) is 0; allowed: a whole number"),
    ("kv_bytes --model Llama-3-70B --batch 2", "sequence_kv_bytes needs context"),
    ("kv_bytes --gpu H100", "gpu 'H100' may be H100 SXM 80GB"),
    ("kv_bytes 5", "'5': a word too many"),
    ("kv_bytes --case nowhere.yaml", "nowhere.yaml: No such file"),
    ("kv_bytes --batch 2 --json --csv", "--json and --csv: both given; allowed: one of them"),
    ("list kv --csv --json", "--json and --csv: both given"),
    ("list zzz", "no formula has zzz"),
    ("list gpus zzz", "no row of gpus has zzz"),
    ("list --batch 2", "list takes no inputs"),
    ("show", "show takes a formula"),
    ("show contxt", "'contxt': unknown; allowed: a formula, a quantity, or model"),
    ("show gpu H1", "no gpu 'H1'; close: H100"),
])
def test_what_it_does_not_understand_is_one_line(capsys, given, expected):
    assert main(given.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("gpucalc: ") and shown.err.count("\n") == 1 and expected in shown.err


def run(*words, **options):
    return subprocess.run([sys.executable, "-m", "gpucalc", *words], text=True, **options)


def test_any_text_comes_back_from_csv_and_json():
    records = [{"name": text, "value": 2.5} for text in hostile.TEXTS]
    made = Printed(str, records)
    for told in (csv.DictReader(io.StringIO(made.csv(), newline="")), json.loads(json.dumps(made.data()))):
        assert [each["name"] for each in told] == hostile.TEXTS


def test_it_runs_as_a_module():
    done = run(*CACHE, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("kv_bytes = 85.9 GB")
    assert run("kv_byte", capture_output=True).returncode == 2


def test_a_reader_who_leaves_is_no_error():
    with subprocess.Popen([sys.executable, "-m", "gpucalc", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_figure_needs_no_pandas():
    code = f"import sys; from gpucalc.cli import main; main({CACHE!r}); sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_a_blank_cell_of_a_row_is_not_shown(told):
    blank = [column for column, value in catalogue.gpu("L40 48GB").items() if value == "" or value != value]
    shown = {line.split()[0] for line in told("show", "gpu", "L40 48GB").splitlines() if line.strip()}
    assert blank and not shown & set(blank) and "memory_bytes" in shown


def test_a_number_has_at_most_399_characters(told, capsys):
    given = ["kv_bytes", "--batch", "1", "--sequence_kv_bytes"]
    assert told(*given, "0" * 398 + "7").startswith("kv_bytes = 7 B")
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main([*given, "0" * 399 + "7"]))
    assert ended.value.code == 2 and "allowed: a number such as" in capsys.readouterr().err


def test_json_keeps_signs_that_are_not_ascii(told):
    assert "sequence KV bytes × batch" in told(*CACHE, "--json")
