"""What a reader pastes into the page, read in a browser, against the same read by Python: configs of models, and rents."""
import json
import random
import re
import statistics
import string

import altair
import pytest

from book.build.site import ROOT
from book.components.charts import expression
from book.web import javascript, printed
from book.web.reading import reading
from gpucalc.core.law import LAWS
from gpucalc.core.figures import UNITS
from gpucalc.core.quantities import QUANTITIES
from gpucalc.rows import catalogue, config, free_words, intake, names as names_of, price_book
from gpucalc.rows.config import architectures
from gpucalc.rows.tables import rows
from tests.gpucalc import test_config as known, test_config_kinds as kinds
from tests.gpucalc.test_names import LINES, NAMES
from tests.book import test_pasted as lines

STATIC = ROOT / "book/static"
READ_CONFIGS = """([texts, file, rule, defaults]) => {
  const iff = (test, yes, no) => (test ? yes : no);
  const count = new Function("datum", "iff", `return ${rule.replaceAll("if(", "iff(")}`);
  return texts.map((text) => gpucalc.readConfig(text, { file, params: (row) => count({ ...defaults, ...row }, iff) }));
}"""
# What the reading of a config says, with the patterns that it tried and the letters that they took.
READ_BY_STEPS = """([head, piece, times, tail]) => {
  const exec = RegExp.prototype.exec;
  let steps = 0;
  RegExp.prototype.exec = function (text) {
    const found = exec.call(this, text);
    steps += 1 + (found ? found[0].length : 0);
    return found;
  };
  try {
    return [gpucalc.readConfig(head + piece.repeat(times) + tail).fault, steps];
  } finally {
    RegExp.prototype.exec = exec;
  }
}"""
RANDOM_CONFIGS, RANDOM_TEXTS = 600, 600


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    page.set_content("<!doctype html><title>reading</title>")
    page.add_script_tag(content=javascript.assigned({"reading": reading(), "data": {"units": UNITS}, "texts": {}, "trains": None}))
    for script in (printed.figures_script(), printed.texts_script(), printed.reading_script()):
        page.add_script_tag(content=script)
    for name in ("read", "read_rents"):
        page.add_script_tag(path=STATIC / f"{name}.js")
    yield page
    page.close()


def params_rule():
    """The count of parameters as an expression of a row's columns, and what it takes for columns that are not there."""
    defaults = {}

    def whole(law):
        defaults.update(law.defaults)
        return law.formula(**{name: whole(LAWS[name]) if name in LAWS else altair.datum[name] for name in law.arguments})
    return expression(whole(LAWS["params"])), defaults


@pytest.fixture(scope="module")
def in_browser(page, tmp_path_factory):
    """Reads texts in the browser, as the files that `in_python` reads."""
    folder = tmp_path_factory.mktemp("pasted")
    return lambda texts: page.evaluate(READ_CONFIGS, [texts, f"{folder.name}/config.json", *params_rule()]), folder


def in_python(folder, text):
    path = folder / "config.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        row = catalogue.model(path)
        return {"name": row.name, "row": dict(row)}
    except ValueError as error:
        return {"fault": str(error)}


def assert_same(in_browser, texts):
    """Both read each text to the same row, columns in the same order, or refuse it in the same words."""
    read, folder = in_browser
    for text, found in zip(texts, read(texts), strict=True):
        wanted = in_python(folder, text)
        assert found == wanted, text[:300]
        assert list(found.get("row", [])) == list(wanted.get("row", []))


def cases_of(test):
    """What a parametrized test of the configs in Python is given."""
    return next(mark.args[1] for mark in test.pytestmark if mark.name == "parametrize" and "fields" in mark.args[0])


def changed(name, fields):
    whole = json.loads(known.path_of(name).read_text()) | fields
    return json.dumps({field: value for field, value in whole.items() if value is not ...})


# Configs

def test_every_config_gives_the_very_same_row(in_browser):
    texts = [path.read_text() for path in sorted(known.CONFIGS.iterdir())]
    assert_same(in_browser, texts)
    assert [found["row"]["params"] for found in in_browser[0](texts)] == [known.PUBLISHED[path.stem] for path in
                                                                          sorted(known.CONFIGS.iterdir())]


@pytest.mark.parametrize("test", [
    known.test_a_malformed_config_is_refused_by_field, known.test_windows, known.test_a_field_sets_its_columns,
    kinds.test_fields_of_layers_of_several_kinds, kinds.test_the_format_of_the_weights,
    kinds.test_what_does_not_fit_is_refused_by_field])
def test_changed_configs_give_the_same_row_or_message(in_browser, test):
    assert_same(in_browser, [changed(name, fields) for name, fields, _ in cases_of(test)])


def random_changes(draw):
    """A known config after one or two of its fields, or of those that architectures refuse, became something else."""
    values = [None, 0, 1, 2, 3, 7, 8, 64, 100, 4096, 10**9, 10**20, -1, True, False, "x", 1.5, 8.0, 1e-7, 1e22, -0.0, [], [0,
              1], [1.0],
              ["full_attention"], {}, {"a": [1, None]}, "a\u202eb", "\ud800", "\\ud800", 'a"\\\n', "\x7f", "é" * 70,
              "\U0001f600" * 70]
    name = draw.choice(sorted(known.PUBLISHED))
    whole = json.loads(known.path_of(name).read_text())
    inside = whole.get("text_config", {})

    def some(given):
        fields = sorted(given) + architectures()["shaping"]
        return {draw.choice(fields): draw.choice([..., *values]) for _ in range(draw.choice([1, 1, 2]))}
    return changed(name, kinds.text(name, **some(inside)) if inside and draw.random() < 0.8 else some(whole))


def test_random_changes_give_the_same_row_or_message(in_browser):
    draw = random.Random(20261122)
    texts = [random_changes(draw) for _ in range(RANDOM_CONFIGS)]
    assert_same(in_browser, texts)
    given = sum("row" in found for found in in_browser[0](texts))
    assert given > RANDOM_CONFIGS / 10


KINDS = {"count": {"least", "most", "missing", "null", "even", "divides", "multiple_of", "equals", "said"}, "flag": {"missing"}, "divide": {"by"},
         "choice": {"allowed", "missing"}, "if": {"then", "else"}, "kinds": {"known", "counted", "missing", "beyond", "equals", "said"}, "but": {"every"},
         "length": {"missing"}, "named": {"from", "equals", "said", "missing"}, "pick": {"of", "missing"}, "quantized": {"missing"},
         "text": set()}


@pytest.mark.parametrize("model_type", config.families())
def test_rules_are_well_formed(model_type):
    """Kinds and their options are known, every column that a formula names has a rule, and every column is one of a model."""
    rules = config.families()[model_type]

    def columns_of(rule):
        if isinstance(rule, str):
            return {word for word in rule[1:].split() if not re.fullmatch(r"\d+|[-+*/]+|max", word)} if rule[:1] == "=" else set()
        if not isinstance(rule, dict):
            return set()
        kind, *options = rule
        assert set(options) <= KINDS[kind]
        named = {rule[each] for each in ("divide", "by", "if", "divides", "multiple_of", "every", "beyond") if each in rule}
        inside = [*(value for option, value in rule.items() if option != "of"), *rule.get("allowed", [])]
        return named.union(*(columns_of(each) for each in inside if isinstance(each, dict) or str(each)[:1] == "="))
    assert set().union(*map(columns_of, rules.values())) <= set(rules)
    assert {column for column in rules if not column.startswith("_")} <= {*QUANTITIES, "native_format", "note"}


def test_one_row_of_data_is_a_new_architecture(in_browser, page, monkeypatch):
    """Here one like Llama with a norm before and after each block, a default for its context, and a field of its own."""
    added = {"like": ["rotary", "kv_heads_default"], "norms_per_layer": 4, "max_context": {"count": "max_seq", "missing": 2048},
             "mlp_bias": {"flag": "mlp_bias", "missing": True}}
    known = architectures() | {"architectures": architectures()["architectures"] | {"plain2": added}}
    monkeypatch.setattr(config, "architectures", lambda: known)
    monkeypatch.setattr(config, "families", config.families.__wrapped__)
    text = changed("Llama-3-8B", {"model_type": "plain2"})
    page.evaluate("(added) => { gpucalc.reading.configs.architectures.plain2 = added; }", added)
    assert_same(in_browser, [text, changed("Llama-3-8B", {"model_type": "plain2", "attention_bias": True})])
    row = in_browser[0]([text])[0]["row"]
    assert (row["max_context"], row["norms_per_layer"], row["mlp_bias"]) == (2048, 4, 1)
    page.evaluate("delete gpucalc.reading.configs.architectures.plain2")


def test_no_field_is_special(in_browser, page):
    fields = {"__proto__": {"layers": 1, "polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "toString": 1,
              "hasOwnProperty": None, "layers": 3, "<script>alert(1)</script>": "${alert(1)}"}
    assert_same(in_browser, [changed("Llama-3-8B", fields), changed("Llama-3-8B", {"model_type": "__proto__"}),
                             changed("Llama-3-8B", {"model_type": "toString"}), changed("Llama-3-8B", {"vocab_size": fields})])
    assert page.evaluate("({}).polluted === undefined && ({}).layers === undefined")


BROKEN = ["", " ", "{}", "[]", "null", "1", "1.0", "true", '"text"', '["llama"]', "NaN", "-Infinity", "nul", "tru", "-",
          "01", "+1", ".5",
          "{'model_type': 1}", '{"model_type": "llama"', '{"model_type" "llama"}', '{"model_type"', '{"a": }', "{1: 2}",
          '{"a": 1 "b": 2}',
          "[1 2]", "[", "{", '{"a": [1, {"b": [', '"a', '"\\', '"\\x"', '"\\u12"', '"\\u12g4"', '"a\tb"', '{"a": "\n"}',
          '{"a": 1} x',
          '{"model_type": "llama", "vocab_size": 1, "vocab_size": 2}', '{"a": {"b": 1, "c": 2, "b": 3}, "a": 1}',
          '{"": 1, "": 2}',
          '{"a\u202e": 1, "a\u202e": 2}', '\ufeff{"model_type": "x"}', '\n\n{"é😀": 1,\n  "😀" 2}', "😀", "\u00a0{}",
          "<html>", "model_type: llama", "\x00", "{}\x00", '{"model_type": "llama", "vocab_size": 1e400}']


def test_what_is_no_config_is_refused_in_the_same_words(in_browser):
    assert_same(in_browser, BROKEN)


def test_random_damage_is_refused_in_the_same_words(in_browser):
    draw, texts = random.Random(7), []
    for _ in range(RANDOM_TEXTS):
        text = known.path_of(draw.choice(sorted(known.PUBLISHED))).read_text()
        place = draw.randrange(len(text))
        texts.append(text[:place] + draw.choice(["", *string.punctuation, "\\u", "é", "\n"]) + text[place + draw.randrange(3):])
    texts = [text for text in texts if not re.search(r",\s*[}\]]", text)]  # what Python says of these depends on its version
    assert_same(in_browser, texts)


@pytest.mark.parametrize("head, piece, times, tail, expected", [
    ("", "[", 100_000, "", "config.json: nested too deeply"),
    ("", '{"a":', 5_000_000, "", "config.json: more than 10,000,000 bytes; allowed: at most that"),
    ("", '{"a":', 1_999_999, "", "config.json: nested too deeply"),
    ('{"model_type": ', "1", 5000, "}", "config.json: Exceeds the limit (4300 digits)"),
    ('{"model_type": "', "x", 9_000_000, '"}', 'config.json, field model_type: "' + "x" * 56 + "...; allowed: cohere, cohere2"),
    ("[", "1,", 4_000_000, "]", "config.json: Expecting value: line 1 column 8000002"),
    ("", "é", 5_000_001, "", "config.json: more than 10,000,000 bytes"),
    ("", " ", 9_999_999, "", "config.json: Expecting value: line 1 column 10000000"),
    ("", "9", 9_999_999, "", "config.json: Exceeds the limit (4300 digits)"),
])
def test_what_is_made_to_hang_is_a_plain_fault(page, head, piece, times, tail, expected):
    fault, steps = page.evaluate(READ_BY_STEPS, [head, piece, times, tail])
    assert fault.startswith(expected)
    assert steps < 1000 + 4 * (len(head + tail) + times * len(piece))


def test_what_is_no_text_is_a_fault(page):
    for given in ("undefined", "null", "{}", "[]", "5"):
        assert page.evaluate(f"gpucalc.readConfig({given}).fault").startswith("config.json: ")


def test_parameters_and_released_bytes_come_from_the_compiled_laws(page, tmp_path):
    compiled = pytest.importorskip("book.web.javascript")
    page.add_script_tag(content=compiled.script(["params", "weight_bytes"]))
    for name in ("grid", "case"):
        page.add_script_tag(path=STATIC / f"{name}.js")
    texts = {name: path.read_text() for name, path in zip(known.PUBLISHED, map(known.path_of, known.PUBLISHED))}
    read = "(texts) => texts.map((text) => gpucalc.readConfig(text).row.params)"
    assert page.evaluate(read, list(texts.values())) == [known.PUBLISHED[name] for name in texts]
    formats = {name: {column: value for column, value in row.items() if isinstance(value, float | int)}
               for name, row in rows("formats").items()}
    page.evaluate("(formats) => { gpucalc.row = (table, name) => formats[name]; }", formats)
    for name, total in [each[:2] for each in known.RELEASED] + [("Qwen3-8B", 10**10)]:
        config, index = known.path_of(name).read_text(), known.index_of(total)
        (tmp_path / "model.safetensors.index.json").write_text(index)
        file = f"{tmp_path.name}/config.json"
        found = page.evaluate("([text, file]) => gpucalc.readConfig(text, { file })", [f"{config}\n{index}\n", file])
        assert found == in_python(tmp_path, config) and ("fault" in found) == (total == 10**10)


# Names and numbers of rents, as Python's reader of price files takes them

def said_by(function, *given):
    try:
        return list(function(*given))
    except ValueError as error:
        return str(error).partition("; close:")[0]


GPUS = ["H100", "A100", "A100 40GB", "a100-80g", "NVIDIA H100 80GB HBM3", "h100 pcie", "H100 SXM5", "H100NVL", "H200",
        "RTX4090", "RTX 6000",
        "RTX", "L40S", "L4", "l40", "A10", "A10G", "MI300X", "Instinct MI300", "TPU v5", "TPUv5e", "GB200", "B200",
        "Gaudi 2", "gaudi-3",
        "Trainium 2", "trn1", "Tesla V100", "V100 32GB", "HBM3", "80GB", "SXM", "", "  ", "XYZ 9000", "__proto__",
        "constructor", "NVIDIA"]


def test_gpus_mean_the_same(page):
    read = """(names) => names.map((name) => {
      try { return gpucalc.rents.gpu_named(name); }
      catch (fault) { return fault.message.split("; close:")[0]; }
    })"""
    keys = list(rows("gpus"))
    names = [*GPUS, *keys, *(key.lower().replace(" ", "-") for key in keys), *(key.split()[0] for key in keys)]
    assert page.evaluate(read, names) == [said_by(intake.gpu_named, name) for name in names]
    numbered = ["8x H100", "H100 x8", "4× A100", "H100*8", "H100", "RTX 4090", "8x", "x8", "L40S x 2"]
    assert page.evaluate("(names) => names.map(gpucalc.names.counted)", numbered) == list(map(list, map(names_of.counted, numbered)))


def test_names_and_free_words_mean_the_same(page):
    """All that people wrote down, and each without its last letters, as one is while it is typed."""
    given = [(row["kind"], name) for row in NAMES for name in (row["name"], row["name"][:-1], row["name"][:-3], f"{row['name']} x")]
    read = "(all) => all.map(([kind, name]) => ({ ...gpucalc.names.meant(kind, name), ...gpucalc.names.typed(kind, name, false) }))"
    assert page.evaluate(read, given) == [
        names_of.meant(*each)._asdict() | {name: list(value) if name == "others" else value
                                           for name, value in names_of.typed(*each, False)._asdict().items()} for each in given]
    words = [text for line in LINES for text in (line["words"], line["words"][:-4], line["words"].upper(), f"not {line['words']}")]
    sellers = ["RunPod", "AWS", "Vast.ai"]
    read = """([lines, sellers]) => lines.map((line) => {
      const { inputs, granted, asks, left, count } = gpucalc.free.understood(line, sellers);
      return { inputs, granted, asks: asks.map((each) => ({ ...each })), left, count };
    })"""
    for line, found in zip(words, page.evaluate(read, [words, sellers]), strict=True):
        same = free_words.understood(line, sellers)
        assert found == {"inputs": same.inputs, "granted": same.granted, "asks": [each._asdict() for each in same.asks],
                         "left": same.left, "count": same.count}, line


TERMS = ["on-demand", "On Demand", "PAYG", "spot", "Preemptible", "1 year reserved", "reserved 3y", "3yr commit",
         "12 months", "36mo",
         "6 month reservation", "CUD 1-year", "savings plan 3 years", "weekly", "two years", "list", "purchase",
         "marketplace", "__proto__"]


def test_terms_mean_the_same(page):
    read = """(names) => names.map((name) => {
      try { return gpucalc.rents.term_named(name, "rent"); } catch (fault) { return fault.message; }
    })"""
    said = [said_by(intake.term_named, name, "rent") for name in TERMS]
    wanted = [each if isinstance(each, list) else each.partition(" for rent")[0] for each in said]
    assert page.evaluate(read, TERMS) == wanted


def test_numbers_and_columns_mean_the_same(page):
    numbers = ["2", "2.10", "2,10", "2.100", "2,100", "1 234.5", "1'234,50", "1,234.56", "1.234,56", "0,123", ".5", "5.",
               "1e2", "1.2.3",
               "1,2,3", "12,345,678", "007", "2,1000"]
    found = page.evaluate("(all) => all.map(gpucalc.rents.readings)", numbers)
    assert found == [intake.readings(each) for each in numbers]
    titles = ["gpu", "GPU", "usd_per_hour", "USD/h", "$/GPU-hour", "price", "Price per hour (USD)", "€/h",
              "EUR per GPU hour", "hourly rate",
              "cost of machine", "# GPUs", "gpusPerServer", "GPU count", "instance price $/h", "cloud", "Location",
              "commitment", "ccy", "colour",
              "price paid last year", "__proto__", "toString", "", "8", *intake._COLUMNS, *intake.PRICES.columns]
    wanted = [intake.column(each) for each in titles]
    assert page.evaluate("(all) => all.map(gpucalc.rents.column)", titles) == [each and each._asdict() for each in wanted]
    cells = ["2.10 $", "US$ 2.10/h", "EUR 3", "-4", "(5)", "€5 USD", "+6", "7−", "from 8 zł", "A$ 1 / GPU hour", "$2.10 USD/h", "2.95-3.10", "none", ""]
    wanted = [intake.amount(each) for each in cells]
    assert page.evaluate("(all) => all.map(gpucalc.rents.amount)", cells) == [each and each._asdict() for each in wanted]


# Rents

H100, A100 = "H100 SXM 80GB", "A100 SXM 80GB"


def rent(usd_per_hour, gpu=H100, size=8, provider="your provider", region="not stated", term="on-demand"):
    return {"gpu": gpu, "usd_per_hour": usd_per_hour, "gpus_per_server": size, "provider": provider, "region": region,
            "term": term, "quote": False}


@pytest.mark.parametrize("text, expected", [
    ("gpu,usd_per_hour\nH100,2.95\nA100,1.40\n", [rent(2.95), rent(1.4, A100)]),
    ("H100,2.95\nA100,1.40", [rent(2.95), rent(1.4, A100)]),
    ("\ufeffgpu;usd_per_hour\r\nH100;2,95\r\n\r\nA100;1,40", [rent(2.95), rent(1.4, A100)]),
    ("gpu\tusd_per_hour\nH100 SXM 80GB\t2,10 $", [rent(2.1)]),
    ('gpu,usd_per_hour\nH100,"2,10"', [rent(2.1)]),
    ("H100,$2.10\nA100,USD 1.40/h", [rent(2.1), rent(1.4, A100)]),
    ("H100,$2.10 USD/h\nA100,US$ 1.40 USD", [rent(2.1), rent(1.4, A100)]),
    ("H100;US$ 2.10 per GPU hour", [rent(2.1)]),
    ("gpu,usd_per_hour,provider,gpus_per_server,term,region\nH100,2.10,Acme,4,reserved 1y,eu",
     [rent(2.1, size=4, provider="Acme", region="eu", term="reserved-1y")]),
    ("Provider,GPU type,GPUs,Price of server ($/h),Term\nAcme,H100,8,16.80,spot\n", [rent(2.1, provider="Acme", term="spot")]),
    ("gpu,gpus,price\nH100,8,16.80", [rent(2.1)]),
    ("gpu,gpus,price,usd_per_hour\nH100,8,16.80,2.10", [rent(2.1)]),
    ("8x H100,2.10", [rent(2.1)]),
    ("h100 pcie,2.10", [rent(2.1, "H100 PCIe 80GB", 8)]),
    ("L4 24GB,0.60", [rent(0.6, "L4 24GB", 8)]),
    ("H100,2.100\nA100,1.40", [rent(2.1), rent(1.4, A100)]),
    ('"H100, with a note",2.1', []),
])
def test_rents_that_are_read(page, text, expected):
    found = page.evaluate("(text) => gpucalc.readRents(text)", text)
    if "8x" not in text and "gpus" not in text.lower():
        larger = reading()["rents"]["larger"]
        alone = [row | {"gpus_per_server": 1} for row in expected]
        expected = [*alone, *(row | {"gpus_per_server": size} for row in alone for size in larger[row["gpu"]])]
    assert found["rows"] == [pytest.approx(row) for row in expected]
    assert bool(found["faults"]) == (not expected)


def test_what_was_taken_for_granted_is_said(page):
    said = page.evaluate("gpucalc.readRents('gpu,colour,usd_per_hour\\nH100,red,2.95').said")
    assert said[0] == {"line": 1, "text": "column colour is not read"}
    assert said[1]["line"] == 2 and said[1]["text"].startswith("H100 is taken as H100 SXM 80GB, not H100 PCIe 80GB")
    assert said[2] == {"line": 2, "text": "term not stated: taken as on-demand"}
    assert said[3]["text"].startswith("size of the machine not stated: taken as billed by the GPU, alone or in machines of 2, 4 or 8;")


# Files of one's own, for the terminal and for the page.
OWN = ["gpu,usd_per_hour\nH100,2.95\nA100,1.40\n", "gpu,gpus,price\nH100,8,2.95\nH200,8,28\n", "gpu,usd_per_hour\nH100,23.6\nRTX 4090,0.3\n",
       "gpu,gpus,usd_per_hour,provider,term\nH100,,2.95,A,spot\nH100,8,2.50,A,spot\nL4,1,44,B,1 year\nMI300X,,0.1,B,on demand\n",
       "gpu,gpus,usd_per_hour,quote\nH100,8,23.6,yes\nB200,8,0.625,no\nA100,2,100,\n", "gpu,usd_per_hour,term\nH100,2.950,6 month reservation\n"]


@pytest.mark.parametrize("text", OWN)
def test_own_rents_mean_the_same_in_the_terminal(page, tmp_path, text):
    """Offers, what is asked and what is said, where the terminal names the row, the file and the day besides."""
    path = tmp_path / "mine.csv"
    path.write_text(text)
    book, found = price_book.prices(path), page.evaluate("(text) => gpucalc.readRents(text)", text)
    columns = ["gpu", "usd_per_hour", "gpus_per_server", "provider", "region", "term"]
    offers = book.loc[book["yours"], columns].itertuples(index=False, name=None)
    assert sorted(map(str, offers)) == sorted(str(tuple(float(row[name]) if name in columns[1:3] else row[name] for name in columns))
                                              for row in found["rows"])
    assert [each["text"] for each in found["faults"]] == [line.partition(": ")[2] for line in book.attrs["warnings"]]
    said = {line.partition(": ")[2] for name in ("said", "standing") for line in book.attrs[name] if "date not stated" not in line}
    assert {each["text"] for each in found["said"]} == said


@pytest.mark.parametrize("text, line, expected", lines.REFUSED)
def test_rents_that_are_refused(page, text, line, expected):
    found = page.evaluate("(text) => gpucalc.readRents(text)", text)
    assert found["faults"][0]["line"] == line and found["faults"][0]["text"].startswith(expected)
    assert "ask" not in found["faults"][0] and len(found["rows"]) == (4 if line == 2 and text.startswith("H100,2.10\n") else 0)


def test_an_odd_price_is_asked_about_and_read(page):
    prices = reading()["rents"]["prices"][H100]["on-demand"]
    high, low = (statistics.median(prices) * share for share in (intake.HIGH * 1.01, intake.LOW / 1.01))
    for price, meant in ((high, "is it the price of a whole machine of 4? Then one GPU is "), (low, "is it right?")):
        found = page.evaluate("(text) => gpucalc.readRents(text)", f"{H100},{price:.4f}")
        [fault] = found["faults"]
        assert len(found["rows"]) == 4 and fault["ask"] and meant in fault["text"]
        assert f"the book's {len(prices)} offers lie between" in fault["text"]
    for price in (high / 1.02, low * 1.02):
        assert page.evaluate("(text) => gpucalc.readRents(text).faults", f"{H100},{price:.4f}") == []


def test_the_same_line_twice_counts_once(page):
    found = page.evaluate("gpucalc.readRents('H100 SXM 80GB,2.10\\nH100,2.10')")
    assert len(found["rows"]) == 4 and found["faults"] == []
    assert found["said"][-1]["text"] == "says the same as line 1: counted once"
