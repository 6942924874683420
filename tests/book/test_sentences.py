"""Sentences with computed figures: what stands in braces is formatted and escaped, and nothing is left open."""

import pytest

from book.components import sentences
from book.components.sentences import said
from gpucalc.core.evaluate import Row

NAMES = {"cache": 85_899_345_920.0, "batch": 32, "context": 8192, "model": "Llama-3-70B", "share": 0.3125, "rate": 2.5,
         "row": Row({"provider": "A & B [x](y)", "gpus": 8}), "none": [], "names": ["one", "two", "three"], "days": 2.5}


@pytest.mark.parametrize("text, shown", [
    ("{{ batch }} sequences of {{ context }} tokens", "32 sequences of 8,192 tokens"),
    ("{{ cache | bytes }} ({{ cache | gib }})", "85.9 GB (80 GiB)"),
    ("{{ cache / batch | bytes if false else (cache / batch) | bytes }}", "2.68 GB"), ("on {{ model }}", "on Llama-3-70B"),
    ("{{ share | percent }} or {{ share | signed('percent') }}", "31.2 % or +31.2 %"),
    ("{{ -share | signed('percent') }}", "−31.2 %"),
    ("{{ rate | usd }}, {{ rate | hourly }}, {{ (1000 * rate) | dollars }}", "2.50 USD, 2.50 USD/h, 2,500 USD"),
    ("{{ days | days }} and {{ (days / 10) | days }}", "2.50 days and 6 h"), ("{{ share }}", "0.312"),
    ("{{ rate | form('.1f') }}", "2.5"), ("{{ cache | quantity('kv_bytes') }}", "85.9 GB"),
    ("{{ names | words }} or {{ names | words('or') }}", "one, two and three or one, two or three"),
    ("{{ infinity | seconds }}", "never"), ("{% if batch > 1 %}many{% else %}one{% endif %}", "many"),
    (r"$\frac{a}{b}$ and `{x: 1}`", r"$\frac{a}{b}$ and `{x: 1}`")])
def test_a_figure_stands_in_its_sentence(text, shown):
    assert said(text, NAMES) == shown


def test_text_from_data_is_never_markup():
    hostile = '<script>alert(1)</script> **b** [l](http://x.org) `c` {{ batch }} $x$ | & "q"'
    text = said("Offer of {{ name }}.", {"name": hostile, "batch": 1})
    assert "<script" not in text.replace(r"\<", "")
    for mark in "<>*[]()`{}$|&":
        assert mark not in text.replace(f"\\{mark}", "")
    assert said("{{ name }}", {"name": "www.evil.org/x"}) == r"www\.evil\.org/x"
    assert said("{{ name }}", {"name": "- item"}) == r"\- item"
    assert said("{{ name }}", {"name": "1. item"}) == r"1\. item"
    assert said("{{ row.provider }}", NAMES) == r"A \& B \[x\]\(y\)"
    assert said("{{ name | words }}", {"name": ["*a*", "b"]}) == r"\*a\* and b"


def test_other_forms_of_the_same_sentence():
    text = "{{ row.provider }} of {{ '2026-06-24' | dated }}"
    assert said(text, NAMES, str) == "A & B [x](y) of 2026-06-24"
    import html
    assert said(text, NAMES, html.escape).startswith("A &amp; B [x](y) of <time")


@pytest.mark.parametrize("text", ["{{ missing }}", "{{ row.missing }}", "{{ batch | no_such_format }}", "{{ batch", "{% if batch %}"])
def test_what_is_not_there_is_an_error_that_shows_the_sentence(text):
    with pytest.raises(ValueError, match="^sentence '"):
        said(text, NAMES)


def test_every_word_for_a_format_is_a_unit_that_prints():
    from gpucalc.core.figures import number
    for unit in sentences.FORMATS.values():
        assert number(1.5, unit)


@pytest.fixture()
def shell():
    """A notebook's shell whose displayed outputs are kept."""
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    sentences.register(shell)
    shell.user_ns.update(NAMES)
    shown, publish = [], shell.display_pub.publish
    shell.display_pub.publish = lambda data, metadata=None, **_: shown.append((data, metadata or {}))
    yield shell, shown
    shell.display_pub.publish = publish
    InteractiveShell.clear_instance()


def test_say_shows_a_sentence_and_keeps_it_for_other_pages(shell):
    shell, shown = shell
    shell.run_cell_magic("say", "", "It takes {{ cache | bytes }}.")
    assert [data["text/markdown"] for data, _ in shown] == ["It takes 85.9 GB."]
    shell.run_cell_magic("say", "headline", "{{ row.provider }}\ntakes {{ cache | bytes }}.")
    kept, about = shown[-1]
    assert about["scrapbook"] == {"name": "headline", "mime_prefix": ""}
    assert kept == {"text/markdown": "A \\& B \\[x\\]\\(y\\)\ntakes 85.9 GB.", "text/plain": repr("A & B [x](y) takes 85.9 GB.")}
    shell.run_cell_magic("say", "prices", "{{ row.provider }}, {{ '2026-06-24' | dated }}")
    assert shown[-1][0]["text/html"] == (
        'A &amp; B [x](y), <time class="price-date" datetime="2026-06-24">2026-06-24</time>')


def test_an_exercise_folds_its_answer(shell):
    shell, shown = shell
    shell.user_ns.pop("_exercises", None)
    shell.run_cell_magic("exercise", "", "How many of {{ model }}?\n---\nExactly {{ batch }}.")
    text = shown[0][0]["text/markdown"]
    question, answer = text.split("<summary>Answer</summary>")
    assert question.startswith('<strong id="exercise-1">Exercise 1.</strong> How many of Llama-3-70B?')
    assert "Exactly 32." in answer and text.rstrip().endswith("</details>")
    with pytest.raises(ValueError, match="a line ---"):
        sentences.exercise("", "No answer")


def test_exercises_are_numbered_and_keep_their_number(shell):
    shell, shown = shell
    shell.user_ns.pop("_exercises", None)
    for question in ("One?", "Two?", "One?"):
        shell.run_cell_magic("exercise", "", f"{question}\n---\nYes.")
    assert [data["text/markdown"].split(".</strong>")[0][-1] for data, _ in shown] == ["1", "2", "1"]


def test_a_list_in_words():
    assert [sentences.in_words(texts) for texts in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


def test_markdown_leaves_plain_names_as_they_are():
    for name in ("Llama-3.1-405B", "H100 SXM 80GB", "on-demand", "2.95 USD/h", "AWS p5.48xlarge"):
        assert sentences.markdown(name) == name
    assert sentences.markdown("a  b\nc") == "a b c"


@pytest.mark.parametrize("text, right", [
    ("a batch of 1 sequences of 1,001 tokens", "a batch of 1 sequence of 1,001 tokens"), ("0.1 tokens, 21 tokens", "0.1 tokens, 21 tokens"),
    ("1 micro-batches of <b>1</b> users", "1 micro-batch of <b>1</b> user"), ("2 GPUs (8 in 10 between 2 and 2) of 3", "2 GPUs of 3"),
    ("2 GPUs (8 in 10 between 2 and 3)", "2 GPUs (8 in 10 between 2 and 3)")])
def test_one_is_singular_and_a_range_of_one_value_is_none(text, right):
    assert sentences.agreed(text) == right
