"""Names as people write them: 120 of models and GPUs, as names.csv has them; what is not sure is refused with what it may be."""
import csv
from pathlib import Path

import pytest

from gpucalc import Case
from gpucalc.rows import catalogue, names
from gpucalc.rows.case_file import case_of

NAMES = list(csv.DictReader((Path(__file__).parent / "names.csv").read_text().splitlines()))


def told(found):
    """What a name gives, as names.csv has it."""
    if found.sure:
        return found.names[0]
    return f"ambiguous: {' | '.join(sorted(found.names))}" if found.names else "unknown"


def wanted(row):
    kind, mark, several = row["gives"].partition(": ")
    return f"{kind}: {' | '.join(sorted(several.split(' | ')))}" if mark else row["gives"]


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row["name"])
def test_a_name_as_people_write_it(row):
    found = names.meant(row["kind"], row["name"])
    assert (told(found), found.stored, str(found.count or "")) == (wanted(row), row["format"], row["count"])


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
