"""What lessons say where a parameter is 0, 1 or missing: their cells before "In depth", run in this process."""
import re

import jupytext
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from book.build.inputs import ROOT
from book.components.sentences import register
from tests.edges import PAGES

ODD = re.compile(r"\b0 \(plan 0|between (\S+(?: \w+)?) and \1\b|(?<![\d.,])1 (?:users|GPUs|tokens|sequences|replicas|requests|micro-batches)\b"
                 r"|no limit (?:replicas|GPUs)|\bnan\b|−[\d.]+ % more|\bNone\b|room for 0 ")
# The first is run by `make test`; each takes seconds.
CASES = [pytest.param(*case, marks=[] if number < 1 else pytest.mark.long) for number, case in enumerate(PAGES)]


def told(page, parameters):
    """What the cells of a lesson show, up to the first that fails: its error is the last."""
    shell, shown = InteractiveShell.instance(), []
    shell.history_manager.enabled = False                                  # no file in the home of who runs the tests
    register(shell)
    try:
        for cell in jupytext.read(ROOT / f"notebooks/{page}.md").cells:
            if "## In depth" in cell.source:
                break
            if cell.cell_type != "code":
                continue
            given = [f"# Parameters\n{name} = {value!r}" for name, value in parameters.items()]
            for source in [cell.source, *("\n".join(given),) * ("parameters" in cell.metadata.get("tags", []))]:
                with capture_output() as caught:
                    run = shell.run_cell(source, store_history=True)
                shown += [output.data.get("text/markdown") or output.data.get("text/plain", "") for output in caught.outputs]
                shown.append("" if run.result is None else str(getattr(run.result, "plain", run.result)))
                if error := run.error_before_exec or run.error_in_exec:
                    return [*shown, str(error)]
        return shown
    finally:
        InteractiveShell.clear_instance()


@pytest.mark.parametrize("page, parameters, says", CASES)
def test_a_parameter_at_its_end_reads_right(page, parameters, says, monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    shown = [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text)) for text in told(page, parameters)]
    assert re.search(says, " ".join(shown)), shown[-3:]
    assert [text for text in shown if (ODD.search(text) and "class=" not in text)] == []
