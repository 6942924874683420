"""A config.json as a parameter of a page."""
import re

from book.components.parameters import page_case
from gpucalc import kv_cache
from gpucalc.rows import catalogue
from tests.gpucalc.test_config import path_of, refused


def as_parameter(path):
    """The case of a notebook whose model is the path."""
    return page_case({"In": ["model = 'Llama-3-8B'"], "model": path})


def test_a_row_explains_and_is_a_parameter():
    path = str(path_of("Qwen3-8B"))
    shown = as_parameter(path).but(context=8192, batch=32).explain(kv_cache.kv_bytes)
    assert "Qwen3-8B; Hugging Face config configs/Qwen3-8B.json" in re.sub("<[^>]*>", "", shown._repr_markdown_())


def test_a_missing_file_is_named(tmp_path):
    assert refused(catalogue.model, "nowhere/config.json") == "nowhere/config.json: No such file or directory"
    assert refused(as_parameter, "nowhere/config.json").startswith("parameter model: nowhere/config.json")
    (tmp_path / "folder").mkdir()
    assert refused(catalogue.model, tmp_path / "folder") == f"{tmp_path}/folder/config.json: No such file or directory"
    (tmp_path / "folder/config.json").mkdir()
    assert refused(catalogue.model, tmp_path / "folder") == (
        f"{tmp_path}/folder/config.json: not a regular file; allowed: a file that can be read to its end")
