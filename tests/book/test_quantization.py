"""Quantization against the published figures of the page."""
import pytest

from book.components.measured import compare


def test_published_sizes():
    # Files within 0.2 % where every tensor's format is known; mixes taken for their main format, and processes, below.
    error = compare("quantization")["error"]
    rough = ["gguf-8b-q4-k-m-as-q4-k", "gguf-8b-q2-k", "exllama-7b", "exllama-13b", "exllama-33b", "exllama-65b"]
    assert len(error) >= 14 and (error.drop(rough).abs() < 0.002).all()
    assert error["gguf-8b-q4-k-m-as-q4-k"] == pytest.approx(-0.081, abs=0.001)
    assert error["gguf-8b-q2-k"] == pytest.approx(-0.168, abs=0.001)
    assert error[["exllama-7b", "exllama-13b", "exllama-33b", "exllama-65b"]].between(-0.1, -0.03).all()
