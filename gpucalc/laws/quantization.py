"""Bits of a weight that is stored with scales, and how small that makes a model."""
from ..core.law import law
from ..core.arithmetic import maximum

BIT_BYTES = 1 / 8


@law
def stored_bits(value_bits, block=1, block_bits=0, superblock=1, superblock_bits=0):
    """Bits of one weight with its share of the scales (count). QLoRA (arXiv 2305.14314, section 3).

    A block has scales and offsets of its own; a super-block those that its blocks share.
    """
    return value_bits + block_bits / block + superblock_bits / superblock


@law
def format_element_bytes(stored_bits):
    """One stored weight with its scales (bytes)."""
    return stored_bits * BIT_BYTES


@law
def quantized_params(params, embedding_params, keep_embeddings=0):
    """Parameters stored in the format: all, or all but the embeddings and the output head (count)."""
    return params - keep_embeddings * embedding_params


@law
def quantized_weight_bytes(params, quantized_params, format_element_bytes, kept_element_bytes=...):
    """Weights of which some are stored in the format and the rest at another width (bytes)."""
    return quantized_params * format_element_bytes + (params - quantized_params) * kept_element_bytes


@law
def serving_bytes(quantized_weight_bytes, kv_bytes):
    """Weights and the cache of a batch (bytes)."""
    return quantized_weight_bytes + kv_bytes


@law
def affordable_bits(params, kv_bytes, usable_bytes):
    """Most bits a weight may take beside the cache, all weights alike (count); 0 if the cache alone fills the memory."""
    return maximum((usable_bytes - kv_bytes) / (params * BIT_BYTES), 0)
