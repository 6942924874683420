"""Which cards run which format: in whose bits their products run, and why one has no path."""
import pytest

from gpucalc import Case
from gpucalc.core.evaluate import Row
from gpucalc.decisions import capacity
from gpucalc.decisions.layouts import layout_case
from gpucalc.laws.shares import product_peak, wide_block_share
from gpucalc.rows import catalogue


@pytest.mark.parametrize(("weight_format", "gpu", "halvings"), [
    ("FP8", "H100 SXM 80GB", 1), ("FP8", "A100 SXM 80GB", 0), ("FP8", "MI300X 192GB", 1), ("FP8-block", "L40S 48GB", 1),
    ("NVFP4", "B200 SXM 180GB", 2), ("NVFP4", "RTX 5090 32GB", 2), ("NVFP4", "H100 SXM 80GB", 0), ("MXFP4", "MI355X 288GB", 2),
    ("MXFP4", "MI300X 192GB", 0), ("MXFP4-MoE", "B200 SXM 180GB", 1), ("MXFP4-MoE", "H100 SXM 80GB", 0),
    ("INT8-W8A8", "A100 SXM 80GB", 1), ("BF16", "B200 SXM 180GB", 0), ("Q4_K_M", "B200 SXM 180GB", 0)])
def test_products_run_in_the_bits_of_the_format_where_the_card_can(weight_format, gpu, halvings):
    assert capacity.linked_gpus(gpu, weight_format)["narrow_products"][gpu] == halvings
    case = Case(gpu=gpu, weight_format=weight_format)
    assert case.explain(product_peak).steps[-1].arguments["narrow_products"] == halvings
    assert case.but(narrow_products=2 - halvings).explain(product_peak).steps[-1].arguments["narrow_products"] == 2 - halvings


def test_the_peak_is_that_of_the_format():
    def peak(weight_format, gpu):
        card = capacity.linked_gpus(gpu, weight_format).loc[gpu].to_dict()
        return Case(gpu=Row(card), weight_format=weight_format)(product_peak)
    assert peak("NVFP4", "B200 SXM 180GB") == 9e15 and peak("NVFP4", "H100 SXM 80GB") == 989e12
    assert peak("FP8", "B200 SXM 180GB") == 4.5e15 and peak("INT8-W8A8", "A100 SXM 80GB") == 624e12
    # B300 multiplies integers slowly, and engines follow the format.
    assert peak("INT8-W8A8", "B300 SXM 288GB") == 157e12


def test_peaks_come_with_their_generation():
    # FP8 from compute capability 8.9 on, FP4 from 10.0 on, and formats.csv says the same.
    cards = catalogue.gpus().dropna(subset="compute_capability")
    assert (cards["fp8_flops"].notna() == (cards["compute_capability"] >= 8.9)).all()
    assert (cards["fp4_flops"].notna() == (cards["compute_capability"] >= 10)).all()
    formats = catalogue.formats()
    for needs, least in (("fp8_flops", 8.9), ("fp4_flops", 10), ("int8_flops", 7.5)):
        assert set(formats["product_capability"][formats["product_needs"] == needs]) == {least}


@pytest.mark.parametrize(("weight_format", "cache", "gpu", "reason"), [
    ("NVFP4", None, "MI355X 288GB", "no NVFP4 path: engines have it for NVIDIA, not for AMD"),
    ("NVFP4", None, "T4 16GB", "no NVFP4 path: needs compute capability 8, T4 16GB has 7.5"),
    ("Q4_K_M", None, "TPU v5e 16GB", "no Q4_K_M path: engines have it for NVIDIA and AMD, not for Google"),
    ("BF16", 0.5625, "H100 SXM 80GB", "no NVFP4 cache path: needs compute capability 10, H100 SXM 80GB has 9"),
    ("BF16", 1, "V100 SXM 16GB", "no FP8 cache path: needs compute capability 7.5, V100 SXM 16GB has 7"),
    ("BF16", 0.5625, "B200 SXM 180GB", "")])
def test_why_a_format_has_no_path(weight_format, cache, gpu, reason):
    cards = catalogue.gpus().join(catalogue.links()[capacity.LINK], on="link")
    assert capacity.left_out(cards, weight_format, cache)[gpu] == reason


@pytest.mark.parametrize(("recipe", "gpu", "peak"), [
    ("mixed-adamw", "H100 SXM 80GB", 989e12), ("fp8-adamw", "H100 SXM 80GB", 1979e12),
    ("fp8-block-adamw", "B200 SXM 180GB", 4.5e15),
    # 16 % of the products at 2.5, the rest at 10 PFLOP/s.
    ("nvfp4-adamw", "GB200 NVL72 186GB", 1 / (22 / 32 / 10e15 + 10 / 32 / 2.5e15))])
def test_products_of_a_recipe_run_at_the_peak_of_its_format(recipe, gpu, peak):
    assert layout_case("Llama-3-8B", gpu, 8192, recipe=recipe)(product_peak) == pytest.approx(peak, rel=1e-12)


def test_blocks_that_stay_in_16_bits_are_a_share_by_depth():
    """Ten of 62 blocks are the 16 % that NVIDIA names; of 126 they are half of that, and a model of eight has no others."""
    assert [round(wide_block_share(10, layers), 3) for layers in (62, 126, 8)] == [0.161, 0.079, 1]
    assert Case(model="Llama-3.1-405B", recipe="nvfp4-adamw")(wide_block_share) == 10 / 126
    assert catalogue.recipe("fp8-adamw")["wide_products"] == 0


def test_a_recipe_needs_a_card_that_multiplies_in_its_format():
    with pytest.raises(ValueError, match="gpu 'A100 SXM 80GB': no products in FP8; allowed: a card that multiplies in it"):
        layout_case("Llama-3-8B", "A100 SXM 80GB", 8192, recipe="fp8-adamw")


@pytest.mark.parametrize(("recipe", "weights", "trained"), [
    # BF16 and two FP8 copies; two FP8 copies alone; BF16 and two copies of 4.5 bits. Gradient 4, master 4, moments 8 or 4.
    ("fp8-adamw", 2 + 2, 4 + 4 + 8), ("fp8-block-adamw", 2, 4 + 4 + 4), ("nvfp4-adamw", 2 + 2 * 4.5 / 8, 4 + 4 + 8)])
def test_bytes_of_a_weight_trained_in_fewer_bits(recipe, weights, trained):
    assert Case(recipe=recipe)("bytes_per_param") == weights + trained
    # Copies are of layers, not of embeddings and head.
    case = layout_case("Llama-3-8B", "B200 SXM 180GB", 8192, recipe=recipe).but(tensor_parallel=1, zero_stage=0)
    tables = 2 * 128_256 * 4096 + 4096
    assert case("held_weight_bytes") == pytest.approx((8_030_261_248 - tables) * weights + tables * 2, rel=1e-12)


def test_kept_inputs_of_products_shrink():
    # Llama-3-8B: two of a layer's four whole vectors are inputs of products, and of the MLP's four tensors the product.
    wide = layout_case("Llama-3-8B", "H100 SXM 80GB", 8192).but(tensor_parallel=1)
    narrow = layout_case("Llama-3-8B", "H100 SXM 80GB", 8192, recipe="fp8-adamw").but(tensor_parallel=1)
    assert wide("whole_values") - narrow("whole_values") == 2 * 4096 / 2
    # Attention keeps its output for its own backward pass, so the copy in FP8 comes on top.
    assert wide("split_values") - narrow("split_values") == 14_336 / 2 - 4096 / 2
