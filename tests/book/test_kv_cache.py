"""Cache sizes against the published figures of the page, and its pictures."""
import pytest

from book.components.measured import compare
from book.pages.kv_cache import room_picture, token_picture
from gpucalc import Case
from tests.pictures import boxes, widths


def test_published_sizes():
    # Printed to three figures at least, but for the 1.6 GB that stand for 1.5625 GiB. What an engine measures stands apart.
    found = compare("kv_cache")
    measured = found["law"].isin(["engine_room_bytes", "profile_bytes"])
    error = found["error"]
    assert len(found) >= 36 and measured.sum() >= 5
    assert (error[~measured].abs() < 0.002).drop("vllm-opt-13b-2048").all()
    assert error["vllm-opt-13b-2048"] == pytest.approx(1.5625 * 2**30 / 1.6e9 - 1, rel=1e-9)
    assert (error[measured].abs() < 0.015).drop("vllm-llama3-8b-h100-peak").all()
    assert error["vllm-llama3-8b-h100-peak"] == pytest.approx(-0.33, abs=0.005)


@pytest.mark.parametrize("model, keys, values", [("Llama-3-70B", 24, 24), ("Qwen3-30B-A3B", 12, 12), ("DeepSeek-V3", 3, 0)])
def test_a_token_leaves_something_in_each_layer(model, keys, values):
    """A key and a value for each KV head in three layers, or one compressed vector."""
    shown = token_picture(Case(model=model))
    assert (len(boxes(shown, "a")), len(boxes(shown, "b")), len(boxes(shown, "wash"))) == (keys, values, 3)
    assert all(any(layer.holds(kept, 0) for layer in boxes(shown, "wash")) for color in "ab" for kept in boxes(shown, color))


@pytest.mark.parametrize("context, gpus", [(8192, 4), (131072, 3)])
def test_the_room_beside_the_weights_is_filled_to_scale(context, gpus):
    case = Case(model="Llama-3-70B", gpu="H100 SXM 80GB", replica_gpus=gpus, context=context, batch=1, headroom=0.1, weight_element_bytes=2,
                batched_tokens=8192, max_sequences=256, framework_bytes=1e9, tensor_parallel=gpus)
    shown, per_byte = room_picture(case), 384 / (gpus * case.rows["gpu"].memory_bytes)
    assert widths(shown, "c") == pytest.approx([case("weight_bytes") * per_byte], rel=1e-3)
    held = boxes(shown, "a")
    assert len(held) == case("max_batch") > 0 and held[0].left == pytest.approx(boxes(shown, "c")[0].right, abs=0.1)
    assert held[-1].right + 1 - held[0].left == pytest.approx(len(held) * case("sequence_kv_bytes") * per_byte, abs=0.5)
    room, back = boxes(shown, "wash")[0], boxes(shown)[-1]
    assert room.right == pytest.approx(back.left, abs=0.2) and back.right == pytest.approx(392, abs=0.1)
    assert back.right - back.left == pytest.approx(38.4, abs=0.01)
