"""Images in a prompt: the tokens that one takes, and the work of the encoder that makes them."""
from ..core.arithmetic import ceil, floor, maximum, minimum, sqrt, where
from ..core.law import law


@law
def image_tokens(image_height, image_width, patch_pixels, patches_merged, least_image_tokens, most_image_tokens, image_side=0):
    """Tokens of one image (count), without those that mark its ends.

    Each side is rounded to whole tokens of `patches_merged` x `patches_merged` patches; an image of more or fewer tokens than
    allowed is scaled first, its shape kept: `smart_resize` of Qwen2-VL (transformers). With an `image_side` every image is scaled
    to that square: Gemma 3 (arXiv 2503.19786, section 2.1).
    """
    pixels = patch_pixels * patches_merged
    height = where(image_side > 0, image_side, image_height) / pixels
    width = where(image_side > 0, image_side, image_width) / pixels
    usual = maximum(floor(height + 1 / 2), 1) * maximum(floor(width + 1 / 2), 1)
    down = sqrt(height * width / most_image_tokens)
    up = sqrt(least_image_tokens / (height * width))
    less = maximum(floor(height / down), 1) * maximum(floor(width / down), 1)
    more = ceil(height * up) * ceil(width * up)
    return where(usual > most_image_tokens, less, where(usual < least_image_tokens, more, usual))


@law
def image_patches(image_tokens, patches_merged):
    """Patches of an image that the encoder works on (count); it joins squares of them into one token at its end."""
    return image_tokens * patches_merged ** 2


@law
def encoder_params(encoder_layers, encoder_hidden, encoder_mlp, encoder_gated=0):
    """Parameters in the matrices of an image encoder's layers (count), without the projection to the model's hidden size: that is
    up to a fifteenth more in Qwen2.5-VL. ViT (arXiv 2010.11929)."""
    return encoder_layers * (4 * encoder_hidden ** 2 + (2 + encoder_gated) * encoder_hidden * encoder_mlp)


@law
def encoder_bytes(encoder_params, kept_element_bytes=...):
    """Memory of an image encoder's weights (bytes), which quantized models leave as they were."""
    return encoder_params * kept_element_bytes


@law
def encoder_flops(image_patches, encoder_params, encoder_layers, encoder_hidden, encoder_full_layers, encoder_window=0):
    """Work of the encoder on one image (FLOP): products, and attention of each patch to all, or in windows to those of its own.

    Attention is not causal here. Windows: Qwen2.5-VL (arXiv 2502.13923, section 2.1.1).
    """
    seen = encoder_full_layers * image_patches + (encoder_layers - encoder_full_layers) * minimum(encoder_window, image_patches)
    return 2 * encoder_params * image_patches + 4 * encoder_hidden * image_patches * seen


@law
def encoder_seconds(encoder_flops, encoder_bytes, product_rate, memory_rate):
    """Least time of the encoder for one image (s): its work, or its weights read once. Beside it the image's tokens are read as
    those of any prompt. Roofline (doi 10.1145/1498765.1498785)."""
    return maximum(encoder_flops / product_rate, encoder_bytes / memory_rate)
