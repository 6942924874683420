"""Reads files that others wrote: regular files only, no larger than said, UTF-8, no hidden character. Writes whole ones."""
import codecs
import contextlib
import csv
import os
import stat
import unicodedata
from pathlib import Path

from .kept import reads

# Categories of Unicode that show nothing or change how what follows is shown: controls, formats (zero-width, right-to-left), lone
# surrogates, separators of lines and paragraphs.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_LONGEST_LINE = 100_000
# What may stand between the cells of a line.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def content(path, most):
    """The bytes of a regular file of at most `most` bytes. Raises ValueError with the path: nothing else is opened."""
    reads(path)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file; allowed: a file that can be read to its end")
        if status.st_size <= most:
            with open(path, "rb") as file:
                held = file.read(most + 1)
        if status.st_size > most or len(held) > most:
            raise ValueError(f"more than {most:,} bytes; allowed: at most that")
        return held
    except (OSError, ValueError) as error:
        raise ValueError(f"{shortened(path)}: {getattr(error, 'strerror', error)}") from None


def text(path, most, allowed="UTF-8 text", marked=False):
    """The text of a UTF-8 file of at most `most` bytes. Raises ValueError naming the file, the row and the byte.

    marked: UTF-16 with its byte order mark is text too, as PowerShell writes it.
    """
    held = content(path, most)
    try:
        if marked and held.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            with contextlib.suppress(UnicodeDecodeError):
                return held.decode("utf-16")
        return held.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from behind a byte order mark, which is no character of the text.
        start = error.start + (len(held) - len(error.object))
        row = held.count(b"\n", 0, start) + 1
        raise ValueError(f"{Path(path).name}, row {row}: byte {held[start]:#04x}; allowed: {allowed}") from None


def short_lines(file, lines):
    """The lines, of which none is so long that it is no line of a table."""
    for row, line in enumerate(lines, 1):
        if len(line) > _LONGEST_LINE:
            raise ValueError(f"{file}, row {row}: {len(line):,} characters; allowed: at most {_LONGEST_LINE:,}")
        yield line


def csv_rows(file, lines, separator=","):
    """Number of the first line and cells of every record, without spaces around them. Raises ValueError for a stray quote."""
    reader, row = csv.reader(lines, delimiter=separator, strict=True), 1
    try:
        for cells in reader:
            yield row, [cell.strip() for cell in cells]
            row = reader.line_num + 1
    except csv.Error as error:
        between = SEPARATORS.get(separator, separator)
        raise ValueError(f"{file}, row {row}: {error}; allowed: cells between {between}, quoted where needed") from None


def is_config(name, beside=""):
    """Whether the name of a model is the path of a config.json, or of a folder with one: as ./name, since a name is a row's."""
    text = str(name)
    named = isinstance(name, os.PathLike) or text.endswith(".json")
    return named or "/" in text and os.path.isfile(os.path.join(beside, text, "config.json"))


def few(lines, most=10, what="faults"):
    """So many lines as anybody reads, and how many more there are."""
    lines = list(lines)
    return [*lines[:most], *([f"and {len(lines) - most:,} more {what}"] if len(lines) > most else [])]


def write_whole(path, content):
    """Puts a file in place in one step, so that it is there whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(content, encoding="utf-8", newline="\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def hidden(value):
    """The first character of a text that shows nothing, as U+202E; empty if there is none."""
    if value.isprintable():
        return ""
    return next((f"U+{ord(each):04X}" for each in value if unicodedata.category(each) in _HIDDEN), "")


def shortened(value, most=120):
    """A path or text for a message, without what can't be printed and not longer than `most` characters."""
    if isinstance(value, str) and len(value) <= most and value.isprintable():
        return value
    shown = "".join(f"<{hidden(each)}>" if hidden(each) else each for each in str(value)[:most])
    return shown if len(str(value)) <= most else shown[:most - 3] + "..."
