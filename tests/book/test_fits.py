"""What runs on what, against hand calculations."""
import math

import pandas
import pytest

from book.components.charts import tiles
from book.pages.quantization import fit_map, KINDS, room_by_card, widest
from gpucalc import Case, quantization as qn
from gpucalc.rows import catalogue

CASE = Case(weight_format="INT4-g128", context=8192, batch=8, cache_element_bytes=2, kept_element_bytes=2, headroom=0.1)
MODELS = catalogue.models().loc[["Llama-3-8B", "Llama-3-70B", "DeepSeek-V3"]]
MEMORIES = pandas.Series({80e9: 85_520_809_984, 24e9: 25_757_220_864})
PLACES = fit_map(CASE, MODELS, MEMORIES).set_index(["model", "marketed_bytes"])


def test_gpus_by_hand():
    # 39,765,832,864 B of INT4 weights and 8 * 8192 tokens of 327,680 B in 0.9 of the memory: one of 80 GB, three of 24 GB.
    need = 39_765_832_864 + 8 * 8192 * 327_680
    for marketed, memory in MEMORIES.items():
        assert PLACES.gpus["Llama-3-70B", marketed] == math.ceil(need / (0.9 * memory))
    assert PLACES.gpus["Llama-3-70B"].tolist() == [1, 3]


def test_kinds_and_marks():
    # 16.06 GB in BF16 and 8.59 GB of cache fit in 77.0 GB and not in 23.2 GB.
    assert PLACES.kind["Llama-3-8B"].tolist() == [KINDS[0], KINDS[1]]
    assert PLACES.mark["Llama-3-8B"].tolist() == ["B", "Q"]
    assert PLACES.mark["Llama-3-70B"].str.rstrip("?").tolist() == ["Q", "3"]
    assert PLACES.kind["Llama-3-70B"].tolist() == [KINDS[1], KINDS[2]]
    assert PLACES.mark["DeepSeek-V3"].str.rstrip("?").tolist() == ["5", "·"]
    assert PLACES.kind["DeepSeek-V3", 24e9] == KINDS[3]


def test_eight_gpus_are_a_node_and_nine_are_not():
    # INT4 needs 39.77 + 21.47 = 61.24 GB: of an eighth of it in each GPU eight hold it, of a ninth nine.
    need = CASE.but(model="Llama-3-70B").band(qn.serving_bytes).plan / 0.9
    assert need == pytest.approx((39_765_832_864 + 8 * 8192 * 327_680) / 0.9, rel=0.01)
    memories = pandas.Series({1.0: need, 2.0: need / 2, 8.0: need / 8, 9.0: need / 9}) + 1
    found = fit_map(CASE, MODELS.loc[["Llama-3-70B"]], memories)
    assert found.gpus.tolist() == [1, 2, 8, 9]
    assert found.kind.tolist() == [KINDS[1], KINDS[2], KINDS[2], KINDS[3]] and found["mark"].str.rstrip("?").tolist() == ["Q", "2", "8", "·"]
    # A byte above the plan value is inside the band.
    assert found["mark"].tolist()[:2] == ["Q?", "2?"]


def test_contexts_end_where_the_models_does():
    long = CASE.but(context=1_000_000)
    own = Case(model="Llama-3-8B", context=8192).but(**long.but(context=8192).inputs)
    need = own.but(weight_format="INT4-g128")(qn.serving_bytes)
    found = fit_map(long, MODELS.loc[["Llama-3-8B"]], MEMORIES.loc[[24e9]])
    assert found.gpus.tolist() == [math.ceil(need / (0.9 * 25_757_220_864))]


def test_no_memory_is_infinitely_many_gpus():
    found = fit_map(CASE.but(headroom=1), MODELS, MEMORIES)
    assert (found.gpus == math.inf).all() and (found.kind == KINDS[3]).all()


def test_the_widest_format_that_is_held():
    needs = CASE.but(model="Llama-3-70B", weight_format=catalogue.formats())(qn.serving_bytes)
    assert widest(needs, 61.3e9) == "INT4-g128"
    assert widest(needs, 1e12) in ("FP32", "TF32")
    assert widest(needs, 1e9) == "none"
    assert widest(needs, needs["Q6_K"]) == "Q6_K"


def test_the_map_keeps_the_order_of_kinds():
    colors = dict(zip(KINDS, ["#111", "#222", "#333", "#444"]))
    drawn = tiles(PLACES.reset_index(), "marketed_bytes", "model", "kind", "mark", colors, "what fits", "memory").to_dict()
    scale = drawn["layer"][0]["encoding"]["color"]["scale"]
    assert (scale["domain"], scale["range"]) == (list(KINDS), ["#111", "#222", "#333", "#444"])
    assert drawn["usermeta"]["alt"] == "what fits"


def test_what_each_card_takes_beside_a_cache():
    """By hand: memory to use less the cache, in bits, over the parameters; GPUs by whole cards."""
    case = CASE.but(model="Llama-3-70B")
    row = room_by_card(case).loc["H100 SXM 80GB"]
    usable, cache = 0.9 * row["memory_bytes"], 8 * 8192 * 2 * 80 * 8 * 128 * 2
    assert row["affordable_bits"] == pytest.approx((usable - cache) * 8 / 70_553_706_496)
    assert (row["in_bf16"], row["in_format"], row["widest"]) == (3, 1, "Q5_K_M")
