"""Tokens of an image and the work of its encoder, by hand and against what the models' makers publish."""
import math

import pytest

from gpucalc import Case
from gpucalc.laws import images
from gpucalc.rows.tables import rows


def image(encoder, height, width, **more):
    row = rows("image_encoders")[encoder]
    return Case(**{name: value for name, value in row.items() if isinstance(value, int | float)}, image_height=height, image_width=width, **more)


@pytest.mark.parametrize("encoder, height, width, tokens", [
    ("Qwen2.5-VL", 224, 224, 64),    # Qwen2-VL, arXiv 2409.12191, section 2.1: 66 with the two that mark its ends
    ("Qwen2.5-VL", 768, 1024, 27 * 37), ("Qwen3-VL", 768, 1024, 24 * 32),
    ("Qwen3-VL", 100, 100, 8 * 8),    # scaled up to 65,536 pixels
    ("Gemma 3", 224, 224, 256), ("Gemma 3", 1080, 1920, 256),    # arXiv 2503.19786, section 2.1
])
def test_tokens_of_an_image(encoder, height, width, tokens):
    assert image(encoder, height, width)(images.image_tokens) == tokens


def test_a_large_image_is_scaled_with_its_shape():
    """By hand: 6,000 x 8,000 pixels are 61,224 tokens; beta = sqrt(48e6 / 12,845,056) = 1.9331, so 110 x 147."""
    assert image("Qwen2.5-VL", 6000, 8000)(images.image_tokens) == 110 * 147 <= 16_384
    small = image("Qwen2.5-VL", 6000, 8000, **{})
    assert small.but(most_image_tokens=1280)(images.image_tokens) <= 1280


@pytest.mark.parametrize("encoder, published, error", [
    ("Gemma 3", 417e6, -0.014),    # arXiv 2503.19786, table 1
    ("Qwen2.5-VL", 675e6, -0.067),    # vLLM's recipe for Qwen2.5-VL: the encoder with its projection
])
def test_parameters_against_published_counts(encoder, published, error):
    assert image(encoder, 448, 448)(images.encoder_params) / published - 1 == pytest.approx(error, abs=1e-3)


def test_work_and_time_by_hand():
    """4,096 patches: 2 x 411.1 million x 4,096 and 4 x 1,152 x 4,096 x 27 x 4,096; a second for each 989e12 FLOP."""
    case = image("Gemma 3", 896, 896, product_rate=989e12, memory_rate=3.35e12)
    params = 27 * (4 * 1152 ** 2 + 2 * 1152 * 4304)
    work = 2 * params * 4096 + 4 * 1152 * 27 * 4096 ** 2
    assert case(images.image_patches) == 4096 and case(images.encoder_flops) == work == pytest.approx(5.455e12, rel=1e-3)
    assert case(images.encoder_seconds) == work / 989e12 and case(images.encoder_bytes) == 2 * params
    assert case.but(product_rate=1e18)(images.encoder_seconds) == 2 * params / 3.35e12


def test_windows_save_attention():
    case, patches = image("Qwen2.5-VL", 1080, 1920), 39 * 69 * 4
    full = case.but(encoder_full_layers=32)
    assert case(images.image_patches) == patches and full(images.encoder_flops) > case(images.encoder_flops)
    assert math.isclose(full(images.encoder_flops) - case(images.encoder_flops), 4 * 1280 * patches * 28 * (patches - 64))
