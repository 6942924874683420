"""The answer as JSON, against data/answer.schema.json."""
import json
import math

import jsonschema
import pytest

from gpucalc import cli_decide
from gpucalc.core.evaluate import FINDERS
from gpucalc.core.quantities import DATA, QUANTITIES
from gpucalc.decisions import answer_words, decide as deciding
from gpucalc.rows import case_file
from gpucalc.rows.mapping import read_mapping
from gpucalc.rows.tables import rows

SCHEMA = json.loads((DATA / "answer.schema.json").read_text(encoding="utf-8"))
CASES = sorted((DATA / "cases").glob("*.yaml"))


def valid(held, part):
    jsonschema.validate(held, SCHEMA | {"$ref": f"#/$defs/{part}"}, jsonschema.Draft202012Validator)
    return held


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_case_and_its_answer_are_as_the_schema_says(path, capsys, book):
    valid(read_mapping(path), "case")
    assert cli_decide.main([str(path), "--json"]) == 0
    found = valid(json.loads(capsys.readouterr().out, parse_constant=pytest.fail), "answer")
    case = case_file.read_case(path)
    assert case_file.case_of(found["case"]).inputs == case.inputs
    if found["levels"]:
        answer = deciding.answered(case, book)
        told = answer_words.told(answer, book, *deciding.more(answer, book))
        assert found["decision"] == told.headline and set(told.cautions) <= set(found["cautions"]) and found["how_sure"] == told.sure
        figures = {card["name"]: card["plan"] for card in found["cards"]}
        assert figures["cost"] == answer.figures["cost"].plan and len(found["choices"]) == len(told.rows)
        best = found["choices"][0]
        assert best["holds"] and best["low"] <= best["plan"] and best["plan"] == answer.best[answer.objective]
        assert [each["text"] for each in found["commands"]] == [each.text for each in told.commands]


def test_the_schema_names_what_a_case_may_hold():
    jobs = rows("jobs").values()
    taken = {part for job in jobs for name in (*job["needs"].split(), *job["takes"].split()) for part in name.split("|")}
    case = SCHEMA["$defs"]["case"]["properties"]
    assert set(case) == taken | {"job", "lengths", case_file.PACKED} and case["job"]["enum"] == [*rows("jobs")]
    for name in taken:
        assert case[name]["type"] == ("number" if name in QUANTITIES else ["string", "array"] if name in case_file.LISTS else "string")
        assert name in QUANTITIES or name in FINDERS


def test_what_is_no_number_is_null_and_a_wrong_case_is_refused(capsys, book):
    held = {"job": "serve", "model": "Llama-3-70B", "requests_per_second": 1, "cards": "RTX 3060 12GB", "own_cards": 1}
    found = valid(deciding.as_data(held, book), "answer")
    assert not found["choices"][0]["holds"] and found["choices"][0]["plan"] is None and found["levels"][0]["gpu"] is None
    assert "NaN" not in json.dumps(found) and deciding.finite([math.inf, math.nan, {"a": 1.0}]) == [None, None, {"a": 1.0}]
    for wrong in ({}, {"job": "serv"}, {"job": "serve", "sure": "high"}, {"job": "serve", "promt": 1}):
        with pytest.raises(jsonschema.ValidationError):
            valid(wrong, "case")
