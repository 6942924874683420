"""What a case promises: a figure of the right inputs, or an error that says which input is wrong, missing or in two rows."""
import copy
import math
import pickle

import numpy
import pandas as pd
import pytest

from gpucalc import Case, interconnect, kv_cache, serving, training_cost
from gpucalc.core.evaluate import Row
from gpucalc.rows import catalogue

LOAD = dict(context=8192, batch=32)
LLAMA_8B = catalogue.model("Llama-3-8B")
H100 = catalogue.gpu("H100 SXM 80GB")
NDR = catalogue.link("InfiniBand NDR")
SEND = interconnect.point_to_point_seconds


def refused(expected, function, *given, **inputs):
    with pytest.raises(ValueError, match=expected):
        function(*given, **inputs)


# Figures

def test_a_case_answers_laws():
    case = Case(model="Llama-3-70B", gpu="H100 SXM 80GB", **LOAD)
    assert case(kv_cache.kv_bytes) == case("kv_bytes") == 85_899_345_920
    assert case(kv_cache.kv_bytes_per_token) == 327_680


def test_rows_may_be_named_or_given():
    named, given = Case(model="Llama-3-8B", **LOAD), Case(LLAMA_8B, **LOAD)
    assert named(kv_cache.kv_bytes) == given(kv_cache.kv_bytes) == Case(model=dict(LLAMA_8B), **LOAD)(kv_cache.kv_bytes)


def test_an_input_overrules_the_rows_and_the_laws():
    assert Case(LLAMA_8B, kv_heads=32, **LOAD)(kv_cache.kv_bytes) == 4 * Case(LLAMA_8B, **LOAD)(kv_cache.kv_bytes)
    assert Case(LLAMA_8B, kv_bytes_per_token=1, **LOAD)(kv_cache.kv_bytes) == pytest.approx(8192 * 32, rel=1e-12)


def test_what_a_law_does_not_need_is_fine():
    assert Case(LLAMA_8B, H100, zero_stage=3, **LOAD)(kv_cache.kv_bytes) == Case(LLAMA_8B, **LOAD)(kv_cache.kv_bytes)


def test_terms_are_the_laws_and_all_they_need():
    terms = Case(LLAMA_8B, **LOAD).terms(kv_cache.kv_bytes, kv_cache.weight_bytes)
    assert terms["kv_bytes_per_token"] == 131_072 and terms["weight_bytes"] == 16_060_522_496
    assert terms["kv_bytes"] == 131_072 * 8192 * 32


def test_the_order_of_the_laws_changes_nothing():
    """A row's value counts, not the one of a law of that name that was asked for before."""
    row = dict(LLAMA_8B, params=10**9)
    first, last = (Case(row).terms(*laws) for laws in (("params", "weight_bytes"), ("weight_bytes", "params")))
    assert first["weight_bytes"] == last["weight_bytes"] == 2 * 10**9
    assert first["params"] == last["params"] == 8_030_261_248


def test_an_explanation_has_inputs_steps_and_sources():
    shown = Case(LLAMA_8B, **LOAD).explain(kv_cache.kv_bytes)
    assert shown.value == 34_359_738_368 and repr(shown) == "kv_bytes = 34.4 GB"
    assert shown.steps[-1].law == "kv_bytes" and shown.steps[-1].arguments["batch"] == 32
    assert shown.terms == {step.law: step.value for step in shown.steps}
    inputs = {used.name: used for used in shown.inputs}
    assert inputs["batch"][1:3] == (32, "given")
    assert inputs["layers"].value == 32 and inputs["layers"].source.startswith("Llama-3-8B; ")
    assert inputs["layers"].date == LLAMA_8B.date
    assert len(inputs) == len(shown.inputs)


def test_columns_give_columns():
    contexts = pd.Series([1024, 8192], ["short", "long"])
    column = Case(LLAMA_8B, context=contexts, batch=32)(kv_cache.kv_bytes)
    assert column.to_dict() == {name: Case(LLAMA_8B, context=context, batch=32)(kv_cache.kv_bytes)
                                for name, context in contexts.items()}
    models = Case(catalogue.models())(kv_cache.kv_bytes_per_token)
    assert models["Llama-3-8B"] == 131_072
    assert Case(catalogue.models().loc["Llama-3-8B"])(kv_cache.kv_bytes_per_token) == 131_072
    many = Case(catalogue.gpus(), model="Llama-3-8B", context=8192, batched_tokens=8192, max_sequences=256,
                framework_bytes=1e9)(kv_cache.concurrency)
    assert many["H100 SXM 80GB"] > many["A100 SXM 40GB"] > 0
    assert "column" in repr(Case(LLAMA_8B, context=contexts, batch=32).explain(kv_cache.kv_bytes))


def test_a_law_stands_for_its_value():
    request = Case(LLAMA_8B, prompt=2000, output=1000, batch=1)
    assert request.but(context=3000)(kv_cache.kv_bytes) == 393_216_000
    assert request.but(context=serving.mean_context)(kv_cache.kv_bytes) == 2500 * 131_072
    run = Case(training_flops=3.6e18, peak_flops=1e12, mfu=0.5, gpu_hours=training_cost.planned_gpu_hours)
    assert run.but(usd_per_hour=2)(training_cost.compute_usd) == 2 * run("planned_gpu_hours") == 4000


def test_but_leaves_the_case_alone():
    case = Case(model="Llama-3-8B", **LOAD)
    small = case.but(model="Llama-3.2-1B", batch=1)
    assert (case.inputs, case.rows["model"].name) == (LOAD, "Llama-3-8B")
    assert (small.inputs, small.rows["model"].name) == (LOAD | dict(batch=1), "Llama-3.2-1B")
    assert case.but(context=None).inputs == dict(batch=32) and case.but(model=None).rows == {}
    assert case.but(gpu=None, prefix=None).inputs == LOAD
    assert "Llama-3-8B" in repr(case) and "context=8192" in repr(case)


# What is refused

def test_an_unknown_name_is_refused_with_one_that_is_close():
    refused("^contxt: unknown; allowed: the names in data/quantities.csv, .*gpu.*; close: context", Case, contxt=8192)
    refused("^contxt: unknown", Case().but, contxt=8192)
    refused("^contxt: unknown", Case().but, contxt=None)
    refused("^law 'kv_byte': unknown; close: kv_bytes", Case(LLAMA_8B), "kv_byte")


def test_an_unknown_row_is_refused_with_one_that_is_close():
    refused("gpus.csv has no gpu 'H101 SXM'; close: .*H100 SXM 80GB", Case, gpu="H101 SXM")
    refused("models.csv has no model 'Lama-3-8B'; close: .*Llama-3-8B", Case().but, model="Lama-3-8B")


@pytest.mark.parametrize("row", [None, 8, "Llama-3-8B", [8]])
def test_what_is_no_row_is_refused(row):
    refused("^row: .*; allowed: a row", Case, row)
    if not isinstance(row, str):
        refused("^gpu: .*; allowed: a row", Case, gpu=row)
    refused("^gpu: 'Llama-3-8B'; allowed: a row of that kind", Case, gpu=LLAMA_8B)


def test_what_a_law_needs_and_nothing_gives_is_named():
    refused(r"^kv_bytes needs batch \(.*\), which is neither given nor in the rows", Case(LLAMA_8B, context=8192), "kv_bytes")


@pytest.mark.parametrize("value", [None, 0, -1, 2.5, "32", float("nan")])
def test_an_impossible_value_is_refused_where_it_is_needed(value):
    case = Case(LLAMA_8B, context=8192, batch=value)
    assert case(kv_cache.kv_bytes_per_token) == 131_072
    refused(r"batch \(.*\) is .*; allowed: a whole number of at least 1", case, "kv_bytes")


def test_a_context_is_never_a_mean_by_accident():
    """Two things were called context: the tokens that are held, and their mean over an answer."""
    refused(r"needs context \(", Case(LLAMA_8B, prompt=2000, output=1000, batch=1), "kv_bytes")


@pytest.mark.parametrize("gpu", ["Gaudi3 128GB", "Gaudi2 96GB"])
def test_a_blank_cell_is_never_a_default(gpu):
    link = catalogue.link(catalogue.gpu(gpu).link)
    case = Case(link, message_bytes=1e9)
    refused(rf"^{link.name}: latency \(.*\) is blank; give latency", case, SEND)
    assert case.but(latency=0)(SEND) == 1e9 / link.link_bandwidth
    refused(rf"^{link.name}: latency \(.*\) is blank", Case(message_bytes=1e9, link_bandwidth=1e9, latency=link), SEND)
    refused(rf"^{link.name}: latency \(.*\) is blank", Case(link, NDR, link_bandwidth=NDR, message_bytes=1e9), SEND)
    refused("latency .* is nan", Case(catalogue.links(), message_bytes=1e9), SEND)


@pytest.mark.parametrize("rows", [(NDR, H100), (H100, NDR)])
def test_two_rows_of_one_name_need_a_word(rows):
    case = Case(*rows, message_bytes=1e9, latency=0)
    refused(rf"^link_bandwidth \(.*\) is in two rows: .* of {rows[0].name} and .* of {rows[1].name}; give link_bandwidth, or the",
            case, SEND)
    assert case.but(link_bandwidth=NDR)(SEND) == pytest.approx(20.0e-3)
    assert case.but(link_bandwidth=H100)(SEND) == pytest.approx(2.2e-3, rel=0.02)
    assert case.but(link_bandwidth=1e12)(SEND) == pytest.approx(1e-3)
    refused("^link_bandwidth: Llama-3-8B has no such column", case.but(link_bandwidth=LLAMA_8B), SEND)


def test_two_rows_that_agree_need_none():
    assert Case(dict(layers=2), dict(layers=2), kv_heads=1, head_dim=1)(kv_cache.kv_bytes_per_token) == 8


def test_a_law_that_needs_what_it_stands_for_is_refused():
    refused("^context=mean_context, prompt=kv_bytes: the law needs what it stands for",
            Case(LLAMA_8B, context=serving.mean_context, prompt=kv_cache.kv_bytes, output=1, batch=1), "kv_bytes")


# Rows

def test_a_row_is_a_plain_mapping():
    assert isinstance(H100, dict) and (H100.name, H100.kind) == ("H100 SXM 80GB", "gpu")
    assert H100.bandwidth == H100["bandwidth"] and {**H100} == H100 == dict(H100)
    for twin in (copy.copy(H100), copy.deepcopy(LLAMA_8B), pickle.loads(pickle.dumps(LLAMA_8B))):
        original = H100 if twin.kind == "gpu" else LLAMA_8B
        assert type(twin) is Row and twin.name == original.name and repr(twin) == repr(original) and twin is not original


def test_a_missing_column_is_named():
    with pytest.raises(AttributeError, match="^H100 SXM 80GB: no column 'layers'"):
        H100.layers
    assert getattr(H100, "layers", None) is None and "layers" not in H100


def test_a_row_is_read_afresh():
    changed = catalogue.gpu("H100 SXM 80GB")
    changed["bandwidth"] = 1
    assert catalogue.gpu("H100 SXM 80GB").bandwidth == H100.bandwidth > 1


# Files

@pytest.fixture
def read(tmp_path):
    """The case of a file with that text."""
    def of(text):
        path = tmp_path / "case.yaml"
        path.write_text(text, encoding="utf-8")
        return Case.read(path)
    return of


def test_a_file_holds_a_case(tmp_path):
    link = catalogue.link("NVLink 4")
    case = Case(LLAMA_8B, H100, link, prompt=2000, output=1000, batch=32, headroom=0.1, causal=True,
                context=serving.mean_context, link_bandwidth=link)
    case.write(tmp_path / "case.yaml")
    again = Case.read(tmp_path / "case.yaml")
    assert again.inputs == case.inputs and again.inputs["context"] is serving.mean_context
    assert {kind: row.name for kind, row in again.rows.items()} == {kind: row.name for kind, row in case.rows.items()}
    assert again(kv_cache.kv_bytes) == case(kv_cache.kv_bytes) and repr(again) == repr(case)
    again.write(tmp_path / "twice.yaml")
    assert (tmp_path / "twice.yaml").read_text() == (tmp_path / "case.yaml").read_text()


def test_numbers_of_numpy_are_written_as_plain_ones(tmp_path):
    Case(batch=pd.Series([32])[0], headroom=pd.Series([0.1])[0]).write(tmp_path / "case.yaml")
    assert (tmp_path / "case.yaml").read_text() == "batch: 32\nheadroom: 0.1\n"


def test_a_file_is_names_and_values(read):
    case = read("model: Llama-3-8B\nprompt: 2000\noutput: 1000\nbatch: 1\ncontext: {law: mean_context}\n")
    assert case(kv_cache.kv_bytes) == 2500 * 131_072
    late = read("link_bandwidth: {row: link}\nlink: InfiniBand NDR\ngpu: H100 SXM 80GB\nmessage_bytes: 1.0e+9\nlatency: 0\n")
    assert late(SEND) == pytest.approx(20.0e-3)


@pytest.mark.parametrize(("text", "expected"), [
    ("- batch\n- 32\n", "no names; allowed: names and values, such as batch: 32"),
    ("", "the file is empty; allowed: names and values"), ("batch: [1", "line 1, column 10: expected ',' or ']'"),
    ("contxt: 8192", "contxt: unknown; .*close: context"), ("contxt: large", "contxt: unknown"), ("1: 8192", "1: unknown"),
    ("gpu: H100", "gpu 'H100' may be H100 SXM 80GB | H100 PCIe 80GB"), ("gpu: 100", "gpu: 100; allowed: for a row its name"),
    ("gpu: {bandwidth: 1}", "gpu: {'bandwidth': 1}; allowed: for a row its name"),
    ("context: {law: kv_byte}", "context: law 'kv_byte': unknown; close: kv_bytes"),
    ("context: {law: [kv_bytes]}", "context: {'law': .*}; allowed: "),
    ("context: {law: kv_bytes, row: gpu}", "context: {'law': .*}; allowed: "),
    ("context: {row: model}", "context: {'row': 'model'}; allowed: .*one of no rows"),
    ("gpu: H100 SXM 80GB\nbandwidth: {row: [gpu]}", "bandwidth: {'row': .*}; allowed: .*one of gpu"),
    ("context: [1024, 8192]", r"context: \[1024, 8192\]; allowed: .*a number"),
    ("context:", "context: None; allowed: .*a number"), ("context: 8k", "context: '8k'; allowed: .*a number"),
    ("bandwidth: 1_0", "bandwidth: '1_0'; allowed: .*a number"),
    ("context: 2026-01-01", "context: '2026-01-01'; allowed: .*a number"),
    ("context: 010", "context: '010'; allowed: .*a number"),
    ("batch: [" + "1, " * 20_000 + "]", r"batch: \[1, 1, 1, 1, 1, 1, \.\.\.\]; allowed: .*a number"),
    ("context: {a: {b: [1]}}", "context: {'a': {'b': .*; allowed: .*a number"),
    ("context: !!python/object/apply:os.getcwd []", "line 1, column 10: the tag .*; allowed: plain values")])
def test_a_bad_file_is_refused_by_name(read, text, expected):
    refused(rf"(?s)case\.yaml[,:] .*{expected}", read, text)


def test_a_missing_file_is_named(tmp_path):
    refused("nowhere.yaml: No such file", Case.read, "nowhere.yaml")
    refused(f"^{tmp_path}: Is a directory", Case(batch=32).write, tmp_path)


def test_numbers_of_a_file_are_numbers(read):
    case = read("bandwidth: 1e9\nheadroom: 0.1\nbatch: 32\ncausal: true\nto_bytes: .inf\n")
    assert case.inputs == dict(bandwidth=1e9, headroom=0.1, batch=32, causal=True, to_bytes=math.inf)
    assert [type(value) for value in case.inputs.values()] == [float, float, int, bool, float]


@pytest.mark.parametrize(("case", "expected"), [
    (Case(catalogue.models()), "row 0: has no name to write"), (Case(dict(layers=2)), "row 0: has no name to write"),
    (Case(model=dict(layers=2)), "row model: has no name to write"),
    (Case(LLAMA_8B, catalogue.model("Llama-2-7B")), "row 1: has no name to write"),
    (Case(Row(LLAMA_8B | dict(layers=2), "Llama-3-8B", "model")), "row model: has no name to write"),
    (Case(batch=pd.Series([1, 2])), "^batch: .*; a file holds numbers, laws and rows of the case"),
    (Case(link="NVLink 4", link_bandwidth=NDR), "^link_bandwidth: 'InfiniBand NDR'; a file holds"),
    (Case(batch=None), "^batch: None; a file holds"), (Case(batch="32"), "^batch: '32'; a file holds")])
def test_what_a_file_can_not_hold_is_refused(tmp_path, case, expected):
    refused(expected, case.write, tmp_path / "case.yaml")
    assert not (tmp_path / "case.yaml").exists()


def test_a_row_given_twice_is_refused():
    with pytest.raises(ValueError, match="gpu: given as a row and by name"):
        Case(catalogue.gpu("A100 SXM 80GB"), gpu="H100 SXM 80GB")


def test_laws_again_for_other_values_are_those_of_a_case_with_them():
    """At some places of all columns: what follows from the value that moves, what stays, a number and a column."""
    case = Case(model="Llama-3-70B", context=numpy.array([1000.0, 2000, 4000]), batch=1.0)
    laws = ["kv_bytes", "sequence_kv_bytes", "kv_bytes_per_token"]
    again, places = case.again(laws, batch=numpy.ones(3)), numpy.array([2, 0])
    for batch in (numpy.array([8.0, 16]), numpy.array([3.0, 5])):
        other = case.but(batch=batch, context=numpy.array([4000.0, 1000]))
        found = again(places, batch=batch)
        assert list(found) == laws
        assert all(numpy.array_equal(found[law], other(law)) for law in laws)
    # 80 layers, 8 KV heads of 128, keys and values in two bytes: 327,680 bytes a token, x 1,000 tokens x batch 5.
    assert found["kv_bytes_per_token"] == 327_680 and found["kv_bytes"][1] == 327_680 * 1000 * 5
