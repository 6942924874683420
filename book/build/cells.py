"""Runs the cells of a notebook in this process, with the outputs and errors that a notebook keeps."""

import contextlib
import io
import json
import traceback

MISSING = "MissingPrice"


def shell_here():
    """An IPython shell whose outputs are the cell's, as a notebook keeps them."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, *, transient=None, update=False, **_):
            if update:
                raise NotImplementedError("a display that is updated later; show it once")
            self.shell.outputs.append({"output_type": "display_data", "data": dict(data), "metadata": metadata or {}})

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            self.shell.outputs.append({"output_type": "execute_result", "data": format_dict, "metadata": md_dict or {},
                                       "execution_count": self.prompt_count})

        def finish_displayhook(self):
            self._is_active = False

    class NotebookShell(InteractiveShell):
        """IPython's own shell, which says nothing of errors by itself: the notebook does."""

        def _showtraceback(self, *_):
            pass

    quiet = Config(HistoryManager={"enabled": False})
    shell = NotebookShell.instance(config=quiet, display_pub_class=Publisher, displayhook_class=Hook)
    shell.outputs = []
    return shell


class Stream(io.TextIOBase):
    """What a cell prints, among its other outputs."""

    def __init__(self, name, shell):
        self.called, self.shell = name, shell

    def write(self, text):
        last = self.shell.outputs[-1] if self.shell.outputs else {}
        if last.get("name") == self.called:
            last["text"] += text
        elif text:
            self.shell.outputs.append({"output_type": "stream", "name": self.called, "text": text})
        return len(text)


def run_cell(shell, cell):
    """Runs one cell and gives it its outputs; whether it went well."""
    from nbformat import from_dict

    shell.outputs = []
    count = shell.execution_count
    with contextlib.redirect_stdout(Stream("stdout", shell)), contextlib.redirect_stderr(Stream("stderr", shell)):
        result = shell.run_cell(cell.source, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        shell.outputs.append({"output_type": "error", "ename": MISSING if lacks_price(error) else type(error).__name__,
                              "evalue": str(error), "traceback": failing_line(cell.source, error)})
    cell.execution_count = count
    cell.outputs = [from_dict(each) for each in json.loads(json.dumps(shell.outputs))]
    return error is None


def lacks_price(error):
    """Whether it is the error for a missing price, or was raised in the place of one to say more."""
    while error is not None and type(error).__name__ != MISSING:
        error = error.__cause__ or error.__context__
    return error is not None


def failing_line(source, error):
    """The number of the line of a cell that failed, and the line; nothing where it can't be told, as in a cell of sentences."""
    lines = source.splitlines()
    if isinstance(error, SyntaxError):
        number = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        number = next((frame.lineno for frame in frames if frame.filename.startswith("<ipython-input")), None)
    known = not source.startswith("%") and number and 1 <= number <= len(lines)
    return [f"{number}", lines[number - 1].strip()] if known else []
