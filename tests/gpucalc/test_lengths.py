"""Lengths of requests: a lognormal by its mean and p95 against drawn ones, and files of requests against what they hold."""
import json
import math

import numpy as np
import pytest

from gpucalc.laws import choosing, lengths, serving
from gpucalc.rows.case_file import case_of, check_p95, MOST_RATIO, read_case, read_lengths
from tests.simulator import drawn


@pytest.mark.parametrize(("late", "table"), [(0.5, 0), (0.1, 1.2816), (0.05, 1.6449), (0.01, 2.3263), (0.001, 3.0902),
                                             (0.95, -1.6449)])
def test_deviations_are_those_of_the_printed_table(late, table):
    assert lengths.late_deviations(late) == pytest.approx(table, abs=5e-4)


def below(value, shape):
    """Share of a gamma distribution below a value: exp(shape y - e^y) over y, the logarithm, by trapezoids."""
    logs = np.linspace(-40 / shape, math.log(value), 100_001)
    return np.trapezoid(np.exp(shape * logs - np.exp(logs)), logs) / math.gamma(shape)


@pytest.mark.parametrize("late", [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005])
def test_late_values_are_within_a_fiftieth_of_the_gammas_quantile(late):
    """Of a mean of 1: 2 % less is not late enough, 2 % more is. Wilson and Hilferty's alone is 13 % too low at a spread of 6."""
    deviations = lengths.late_deviations(late)
    for spread in (0.1, 0.5, 1, 1.01, 1.5, 3, 6, 10, 25, 50):
        if spread <= max(0.55 / late - 1.1, 1):
            found, shape = lengths.late_quantile(1, spread, deviations, late), 1 / spread
            assert below(0.98 * found * shape, shape) < 1 - late < below(1.02 * found * shape, shape), spread
    assert below(1, 1) == pytest.approx(1 - math.exp(-1)) and below(0.5, 0.5) == pytest.approx(math.erf(0.5**0.5))


@pytest.mark.parametrize("late", [0.2, 0.1, 0.05, 0.01, 0.001])
def test_more_spread_makes_nobody_less_late(late):
    deviations, spreads = lengths.late_deviations(late), np.geomspace(1e-3, 1e6, 4000)
    found = lengths.late_quantile(1, spreads, deviations, late)
    assert (np.diff(found) >= -1e-9).all() and found[0] > 1 and found[-1] <= 1 / late


def test_a_lognormal_by_hand():
    """p95 = 800 of a mean of 300: 1.6449 s - s^2 / 2 = ln(2.6667) = 0.98083 at s = 0.782366, so the variation is e^0.61210 - 1."""
    assert 1.6448536 * 0.782366 - 0.782366**2 / 2 == pytest.approx(math.log(800 / 300), abs=1e-5)
    assert lengths.output_variation(300, 800) == pytest.approx(math.exp(0.782366**2) - 1, rel=1e-4)
    assert lengths.prompt_variation(300, 800) == lengths.output_variation(300, 800)
    assert lengths.output_variation(300) == 0
    # Half of a prompt's time is the same for any length: a quarter of the variation.
    assert lengths.prompt_time_variation(0.8, 0.5) == pytest.approx(0.2)


@pytest.mark.parametrize(("mean", "p95"), [(1000, 2500), (300, 800), (200, 250), (100, 380)])
def test_drawn_lengths_have_that_mean_p95_and_variation(mean, p95):
    found = drawn(mean, p95, 400_000, np.random.default_rng(3))
    assert found.mean() == pytest.approx(mean, rel=0.02) and np.quantile(found, 0.95) == pytest.approx(p95, rel=0.02)
    if p95 < 3 * mean:
        assert found.var() / found.mean()**2 == pytest.approx(lengths.output_variation(mean, p95), rel=0.06)
    # In the batch a long answer is seen for longer: a token belongs to one of the mean of squares over the mean.
    if p95 < 3 * mean:
        seen = (found.astype(float) ** 2).sum() / found.sum() / 2
        assert serving.mean_context(1000, mean, lengths.output_variation(mean, p95)) == pytest.approx(1000 + seen, rel=0.01)


def test_contexts_by_hand():
    assert serving.mean_context(500, 200, 0) == 600 and choosing.final_context(1000, 300, 0) == 1300
    variation = lengths.output_variation(300, 800)
    assert serving.mean_context(1000, 300, variation) == pytest.approx(1000 + 150 * (1 + variation))
    assert choosing.final_context(1000, 300, variation) == pytest.approx(1000 + 300 * (1 + variation))


# Files

ROWS = [(100, 10), (200, 20), (300, 30), (1000, 140)]


@pytest.mark.parametrize(("prompt", "output"), [("prompt", "output"), ("ContextTokens", "GeneratedTokens"),
                                                ("Request tokens", "Response tokens"), ("input_length", "output_length")])
def test_the_spellings_of_published_traces(tmp_path, prompt, output):
    table, lines = tmp_path / "mine.csv", tmp_path / "mine.jsonl"
    table.write_text(f"TIMESTAMP,{prompt},{output}\n" + "".join(f"0,{a},{b}\n" for a, b in ROWS))
    lines.write_text("\n".join(json.dumps({prompt: a, output: b}) for a, b in ROWS) + "\n\n")
    assert read_lengths(table) == read_lengths(lines) == dict(prompt=400, prompt_p95=1000, output=50, output_p95=140)


def test_lengths_that_are_all_alike(tmp_path):
    (tmp_path / "mine.csv").write_text("prompt,output\n100,7\n100,7\n")
    assert read_lengths(tmp_path / "mine.csv") == dict(prompt=100, prompt_p95=0, output=7, output_p95=0)


def test_a_tail_that_no_lognormal_has_is_given_its_variance(tmp_path):
    """19 of 10 and one of 1,810: the mean is 100, 95 in 100 are at most 10, and the variation is 15.2."""
    (tmp_path / "mine.csv").write_text("prompt,output\n" + "10,10\n" * 19 + "1810,10\n")
    found = read_lengths(tmp_path / "mine.csv")
    assert found["prompt"] == 100 and 100 <= found["prompt_p95"] <= MOST_RATIO * 100 and found["output_p95"] == 0


@pytest.mark.parametrize(("name", "text", "message"), [
    ("a.csv", "prompt,answer\n1,2\n", r"a.csv, row 2: no column for output; allowed: output, output_tokens"),
    ("a.csv", "prompt,output\n1,x\n", r"a.csv, row 2, output: 'x'; allowed: a whole number from 0 to 10,000,000"),
    ("a.csv", "prompt,output\n-1,2\n", r"a.csv, row 2, prompt: -1; allowed|a.csv, row 2, prompt: '-1'; allowed"),
    ("a.csv", "prompt,output\n", r"a.csv: no requests; allowed: a request in each row"),
    ("a.jsonl", "[1, 2]\n", r"a.jsonl, row 1: \[1, 2\]; allowed: a JSON object"),
    ("a.jsonl", '{"prompt": 1, "output": 2.5}\n', r"a.jsonl, row 1, output: 2.5; allowed: a whole number"),
    ("a.jsonl", "{\n", r"a.jsonl, row 1: .*; allowed: a JSON object in each row, or a .csv")])
def test_files_that_are_not_lengths(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_lengths(tmp_path / name)


# Cases

LOAD = dict(job="serve", model="Llama-3-8B", requests_per_second=1)


def test_a_case_names_a_file_of_lengths(tmp_path):
    (tmp_path / "mine.csv").write_text("prompt,output\n" + "".join(f"{a},{b}\n" for a, b in ROWS))
    (tmp_path / "case.yaml").write_text("job: serve\nmodel: Llama-3-8B\nrequests_per_second: 1\nlengths: mine.csv\n")
    case = read_case(tmp_path / "case.yaml")
    assert {name: case.inputs[name] for name in ("prompt", "prompt_p95", "output", "output_p95")} == dict(
        prompt=400, prompt_p95=1000, output=50, output_p95=140)
    (tmp_path / "case.yaml").write_text("job: serve\nmodel: Llama-3-8B\nrequests_per_second: 1\nlengths: mine.csv\noutput: 3\n")
    with pytest.raises(ValueError, match=r"case.yaml: lengths: 'mine.csv'; allowed: no output beside it"):
        read_case(tmp_path / "case.yaml")
    (tmp_path / "case.yaml").write_text("job: serve\nmodel: Llama-3-8B\nrequests_per_second: 1\nlengths: none.csv\n")
    with pytest.raises(ValueError, match=r"case.yaml: lengths: .*none.csv: No such file"):
        read_case(tmp_path / "case.yaml")


@pytest.mark.parametrize(("given", "message"), [
    (dict(prompt_p95=999), "prompt_p95: 999; allowed: 0 if all are alike, or from the mean, 1000, to 3.87 times that"),
    (dict(output=100, output_p95=400), "output_p95: 400; allowed: 0 if all are alike, or from the mean, 100, to 3.87 times that"),
    (dict(drafted=3), r"^acceptance \(chance that a drafted token is accepted\): missing; drafted needs it$"),
    (dict(acceptance=0.8), r"^drafted \(tokens drafted in a round of speculative decoding\): missing; acceptance needs it$"),
    (dict(prompt_p95=-5), r"^prompt_p95: -5; allowed: a number of at least 0 [^\n]*$"),
    (dict(job="grpo", rollout_steps=9, output=3000, output_p95=9000, output_limit=2000, requests_per_second=None),
     "output_limit: 2000; allowed: 0 for no limit, or at least the mean, 3000"),
])
def test_values_that_do_not_go_together(given, message):
    given = {name: value for name, value in (LOAD | given).items() if value is not None}
    with pytest.raises(ValueError, match=message):
        case_of(given)
    assert case_of(LOAD | dict(prompt_p95=3868, output_p95=0)).inputs["prompt_p95"] == 3868
    assert MOST_RATIO == pytest.approx(3.868, abs=1e-3) and check_p95(100, 0) == ""
