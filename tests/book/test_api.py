"""The reference pages: every formula is on them, and what they say of a function is what stands in its source."""
import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from book.build.api import entry, formula, signature
from gpucalc import LAWS
from gpucalc.rows.texts import read_texts

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"


def asked(page, directive):
    """What the directives of a page name, as words."""
    return [found.split() for found in re.findall(rf"^```{{{directive}}} (.*)$", (BOOK / page).read_text(encoding="utf-8"), re.M)]


def test_every_topic_is_once_on_a_page_of_formulas():
    pages = read_texts("formulas")
    assert {page.stem for page in BOOK.glob("api_formulas*.md")} == {*pages}
    assert all(asked(f"{page}.md", "formulas") == [[page]] for page in pages)
    topics = [topic for parts in pages.values() for held in parts.values() for topic in held.split()]
    assert sorted(topics) == sorted({law.__module__.rpartition(".")[2] for law in LAWS.values()})


def test_a_page_of_formulas_has_a_part_for_each_heading(tmp_path):
    pytest.importorskip("sphinx")
    (tmp_path / "conf.py").write_text("extensions = ['myst_parser', 'book.build.api']\n")
    (tmp_path / "index.md").write_text("# Formulas\n\n```{formulas} api_formulas_many\n```\n")
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(tmp_path), str(tmp_path / "html")], check=True)
    page = (tmp_path / "html/index.html").read_text()
    parts = read_texts("formulas")["api_formulas_many"]
    assert re.findall(r"<h2>(.*?)<a", page) == [*parts] and 'id="post-training"' in page and 'id="all-reduce-seconds"' in page


def test_what_the_pages_name_is_there():
    wanted = asked("api_rows.md", "functions") + asked("api_plans.md", "functions")
    assert ["gpucalc.rows.rents"] in wanted and len(wanted) > 15
    for module, *names in wanted:
        path = ROOT / f"{module.replace('.', '/')}.py"
        found = [node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if hasattr(node, "name")]
        assert found and set(names) <= set(found)


def test_a_formula_says_its_unit_its_equation_and_what_it_takes():
    text = formula("kv_bytes_per_token", LAWS["kv_bytes_per_token"]).astext()
    assert text.startswith("kv_bytes_per_token → byte\n") and "Pope et al. 2022 (arXiv 2211.05102, section 3.3)." in text
    assert "KV bytes per token = (latent bytes per token if KV LoRA rank > 0, else 2 × cached layers × KV heads" in text
    assert "Takes cached_layers (count), kv_heads (count), head_dim (count), latent_bytes_per_token (byte), index_bytes_per_token (byte), cache" in text
    folded = formula("expert_product_seconds", LAWS["expert_product_seconds"]).astext()
    assert "<details>" not in text and folded.index("<details>") < folded.index("expert product seconds = ") < folded.index("</details>")


def test_a_signature_stands_as_in_the_source_without_its_types():
    source = "def made(self, case, by: str = 'step', *, count=10, show: Callable[[float], str] | None = None, **job: int) -> str: ..."
    assert signature(ast.parse(source).body[0]) == "(case, by='step', *, count=10, show=None, **job)"


def test_a_docstring_is_text_with_its_names_as_code():
    shown = entry("x", "x()", "Values of `batch`, or None; *no* markup.\n\nThe laws of `law`.")
    first, second = shown[-1]
    assert [each.astext() for each in first if each.tagname == "literal"] == ["batch", "None"]
    assert first.astext() == "Values of batch, or None; *no* markup." and second.astext() == "The formulas of law."
