"""The commands `gpucalc decide` and `ask`: a case in, and out what to take, how many, from whom, what binds, helps, flips it."""
import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from textwrap import wrap
from typing import Any

from .core.evaluate import Case, plugin
from .core.quantities import QUANTITIES
from .core.figures import three_figures
from .decisions import answer_words, blend, decide as deciding, owning_words
from .decisions.owning_words import is_owning
from .decisions.rent_or_buy import rent_or_buy
from .rows import case_file, choices, free_words, names, price_book
from .rows.ages import today
from .rows.files import shortened, write_whole
from .rows.tables import OWN_GPUS

WIDTH, NEXT = 100, 5
# The price of an hour of one GPU among the words that say nothing of a case: "for $2.95 an hour", "3.10 usd/h".
_PRICE = re.compile(
    r"(?:(?:at|for|@) )?\$? ?(\d+(?:\.\d+)?) ?(?:\$|usd|dollars?)? ?(?:/|an |a |per ) ?(?:gpu[ -]?)?(?:h|hr|hour)")
USAGE = """\
gpucalc decide CASE.yaml [--prices FILE] [--compare OTHER.yaml] [--rows N,M] [--report OUT.html]
                          [--files FOLDER] [--json]

gpucalc ask "WORDS" [--prices FILE] [--report OUT.html]

WORDS             what to run, in words: "70b chat, 10 requests a second, 1k in, 300 out, first token under 1 s";
                  the price of its one card, "on h100 for $2.95 an hour", is a quote beside the market's
CASE.yaml         a case as those of data/cases: job, model, what it must do, and its limits; also --case FILE
--prices FILE     prices of your own over the newest book; --only 1 takes them alone, --rate EUR=1.10 says what a euro is
--discount TEXT   what a contract takes off: "AWS=18 %", a savings plan with its term: "AWS=40 % reserved-1y"; also in a case
--hours FILE      a load by the hour, columns hour and requests_per_second: what to reserve, and what to rent as it is needed;
                  --interruptible 0.3 puts that share of the rest on spot
--gpus FILE       GPUs of your own
--compare FILE    another case, side by side with this one
--rows N,M        two choices of this case side by side, by their number in the list, the best being 1
--report FILE     writes the answer as one HTML page
--files FOLDER    writes what runs the answer as compose.yaml, kubernetes.yaml and sky.yaml
--json            prints the answer as JSON, as data/answer.schema.json has it
"""


def main(given: list[str], asked: bool = False) -> int:
    """Answer the case, asked in words or a file; returns the exit status: 0, or 2 with every fault of the files on stderr."""
    options = _options(given, asked)
    if options is None:
        print(USAGE.rstrip())
        return 0
    try:
        print(_answered(options))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _options(given, asked):
    parser = argparse.ArgumentParser("gpucalc decide", add_help=False, allow_abbrev=False)
    parser.add_argument("file", nargs="*")
    for name in ("case", "prices", "discount", "hours", "interruptible", "only", "rate", "gpus", "compare", "rows", "report",
                 "files"):
        parser.add_argument(f"--{name}", default="")
    for name in ("-h", "--help"), ("--json",):
        parser.add_argument(*name, action="store_true")
    options = parser.parse_args(given)
    if len(options.file) > 1 and not asked:
        parser.error(f"unrecognized arguments: {' '.join(options.file[1:])}")
    options.words = " ".join(options.file) if asked and not options.case else None
    options.case = options.case or " ".join(options.file)
    return None if options.help else options


def _answered(options):
    """What the terminal shows; all faults of all files at once."""
    if options.gpus:
        os.environ[OWN_GPUS] = options.gpus
    faults, held = [], {}
    readers = {"book": lambda: _book(options), "case": lambda: deciding.read(options.case or _missing())}
    if options.words is not None:
        readers["case"] = lambda: worded(options.words, held.get("book"), not options.prices)
    if options.report:
        readers["report"] = lambda: _place(options)
    if options.compare:
        readers["other"] = lambda: deciding.read(options.compare)
    for name, read in readers.items():
        try:
            held[name] = read()
        except ValueError as error:
            faults.append(str(error))
    if faults:
        raise ValueError("\n".join(faults))
    told = []
    if options.words is not None:
        held["case"], told, held["book"] = held["case"]
    if options.discount:
        held |= {name: held[name].but(discount=options.discount) for name in ("case", "other") if name in held}
    if options.hours:
        share = options.interruptible or "0"
        if not re.fullmatch(r"0?\.\d+|[01]", share):
            raise ValueError(f"--interruptible: {shortened(share)}; allowed: a share from 0 to 1")
        said = blend.blend(held["case"], options.hours, held["book"], float(share)).lines()
        return "\n".join([*told, *(line for text in said for line in wrap(text, WIDTH))])
    if options.json:
        return json.dumps(deciding.as_data(held["case"], held["book"]), ensure_ascii=False, indent=1)
    answer = (_owning if is_owning(held["case"]) and not (options.compare or options.rows) else _shown)(options, held)
    return "\n".join([*told, answer])


def worded(words: str, book: Any, quotes: bool = True) -> tuple[Case, list[str], Any]:
    """The case of a line of free words, what was understood of it, as lines that go above the answer, and the book: the newest
    with the price of an hour of the line's one card, where such `quotes` count. Raises ValueError for no words, and for a name
    that means nothing here, with the nearest."""
    if not words.strip():
        raise ValueError('WORDS: missing; allowed: what to run, such as "70b chat, 10 requests a second"')
    sellers = [] if book is None else sorted(set(book[book["item"] == "rent"]["provider"]))
    read = free_words.understood(words, sellers)
    if read.question:
        raise ValueError(f"WORDS: no case is in '{shortened(words, 60)}'; allowed: what to run and for whom, such as "
                         '"70b chat, 10 requests a second"; the search of the book finds pages on other questions')
    unknown = next((ask for ask in read.asks if not ask.taken), None)
    if unknown:
        raise ValueError(names.refusal(unknown.key, unknown.words, []))
    quote = next(filter(None, map(_PRICE.fullmatch, read.left)), None) if quotes and len(read.named) == 1 else None
    if quote:
        read.left.remove(quote[0])
    held = free_words.begun(read.usual | read.inputs)
    usual = {name: value for name, value in choices.job(held["job"]).items() if name in QUANTITIES and not isinstance(value, str)}
    given, more = ([f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in each.items()]
                   for each in (read.inputs, {name: value for name, value in (usual | held).items() if name not in read.inputs}))
    said = [f"{title}: {text}." for title, text in free_words.told(read, given, more)]
    said += [f"Which “{ask.words}”? {ask.taken} is taken; or {', '.join([each for each in ask.others if each != ask.taken])}."
             for ask in read.asks]
    if quote:
        card, usd = read.named[0][0], quote[1]
        said.append(f"A quote: {usd} USD/h for one {card}, on demand. It joins the prices of the book.")
        book = _quoted(card, usd)
    return case_file.case_of(held), [line for text in said for line in wrap(text, WIDTH)] + [""], book


def _quoted(card, usd):
    """The newest book with a quote beside its prices."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "quote.csv")
        path.write_text(f"gpu,usd_per_hour,quote\n{card},{usd},yes\n", encoding="utf-8")
        return book_of_today(price_book.prices(path))


def _owning(options, held):
    case, book = held["case"], deciding.priced(held["case"], held["book"])
    found = rent_or_buy(case, book)
    told = owning_words.told(found, case, book)
    return "\n".join(answer_lines(told, "own", book) + _written(options, held, lambda: _page("owning_report")(found, case, told)))


def _missing():
    raise ValueError("CASE: missing; allowed: a YAML file such as those in data/cases")


def _book(options):
    lonely = [word for word, given in (("only", options.only), ("rate", options.rate)) if given and not options.prices]
    if lonely:
        raise ValueError(f"{' and '.join(lonely)}: about a file of prices, and none is given; allowed: with --prices FILE")
    rates = dict(price_book.rate(each) for each in options.rate.split())
    book = price_book.prices(options.prices or None, options.only not in ("", "0"), rates)
    return book_of_today(book)


def book_of_today(book: Any = None) -> Any:
    """A price book, the newest where none is given, which knows how old its prices are."""
    book = deciding.book_of(book)
    book.attrs |= {"today": today().isoformat()}
    return book


def _shown(options, held):
    book = deciding.priced(held["case"], held["book"])
    found = deciding.answered(held["case"], book)
    told = answer_words.told(found, book, *deciding.more(found, book))
    lines = answer_lines(told, found.kind, book)
    beside = []
    if "other" in held:
        other = deciding.answered(held["other"], held["book"])
        beside.append((options.case, options.compare, deciding.beside(found, other, book)))
    if options.rows:
        parts = options.rows.replace(",", " ").split()
        if len(parts) != 2 or not all(re.fullmatch("[0-9]{1,9}", part) for part in parts):
            raise ValueError(f"ROWS={shortened(options.rows, 60)}: allowed: two numbers of the list, such as 1,3")
        first, second = map(int, parts)
        beside.append((f"choice {first}", f"choice {second}", deciding.offers(found, book, first, second)))
    for each in beside:
        lines += ["", *side_by_side(*each)]
    tables = [each.rename(columns={"first": one, "second": other}) for one, other, each in beside]
    return "\n".join(lines + _written(options, held, lambda: _page("report")(found, book, tables)) + _filed(options.files, told))


def _page(name):
    """What makes the page; ValueError where no package that does is installed."""
    made = plugin(name)
    if made is None:
        raise ValueError("--report: what makes the page is not installed; allowed: after pip install 'gpucalc[book]'")
    return made


def _place(options):
    """Where the report goes: no file of another kind, and none that was given."""
    _page("report")
    path = Path(options.report)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"OUT={shortened(options.report)}: allowed: a name that ends in .html or .htm")
    given = [name for name in ("case", "prices", "gpus", "compare") if (file := getattr(options, name)) and path.exists()
             and os.path.exists(file) and os.path.samefile(path, file)]
    if given:
        raise ValueError(f"OUT={shortened(options.report)}: is the file of {given[0].upper()}; allowed: another name")
    return path


def _written(options, held, page):
    """Writes the report that was asked for, once it is whole, and says where."""
    if not options.report:
        return []
    write_whole(held["report"], page())
    return ["", f"The report is {os.path.abspath(options.report)}"]


def _filed(folder, told):
    """Writes the files that run the answer into the folder that was asked for, and says which."""
    files = [each for command in told.commands for each in command.files] if folder else []
    if folder and not files:
        raise ValueError("--files: no file runs this answer; allowed: one of vLLM on NVIDIA, a replica in one server")
    for each in files:
        Path(folder).mkdir(parents=True, exist_ok=True)
        write_whole(Path(folder, each.title), each.text)
    return ["", f"In {os.path.abspath(folder)}: {', '.join(each.title for each in files)}"] if files else []


# The answer as lines

def answer_lines(told: answer_words.Told, kind: str, book) -> list[str]:
    """The answer as lines of at most WIDTH characters."""
    cards = [(card.title, list(filter(None, [card.big, card.small, card.note]))) for card in told.cards]
    margin = max([len(title) for title, texts in (*cards, *told.lists) if texts], default=0) + 2
    named = [[line for title, texts in group for line in _named(title, texts, margin)] for group in (cards, told.lists)]
    # A command stands as it is pasted, whatever its width.
    commands = [[command.title, *(f"  {line}" for line in command.text.splitlines()), *wrap(command.note, WIDTH)]
                for command in told.commands]
    blocks = [wrap(told.question, WIDTH), wrap(told.headline, WIDTH), *named, *commands, _next(told, kind, book),
              wrap(told.prices, WIDTH)]
    return [line for block in blocks if block for line in (*block, "")][:-1]


def _named(title, texts, margin):
    """Texts in a column behind their title."""
    lines = [line for text in texts for line in wrap(text, WIDTH - margin, subsequent_indent="  ")]
    return [f"{title if not place else '':<{margin}}{line}".rstrip() for place, line in enumerate(lines)]


def nearest_rows(told: answer_words.Told, most: int = NEXT) -> list[tuple[int, dict]]:
    """The next choices with their number in the list: the best of each other GPU, then GPUs that have none."""
    seen = {told.rows[0]["gpu"]} if told.cards and told.rows else set()
    found: list[tuple[int, dict]] = []
    for number, row in enumerate(told.rows, 1):
        if row["gpu"] not in seen and len(found) < most:
            seen.add(row["gpu"])
            found.append((number, row))
    return found


def _next(told, kind, book):
    """The next choices as a table, with why each is not the first."""
    unit = answer_words.fill("per", {"kind": kind}).strip()
    table = [("", "GPU", "GPUs", "from", "rent", f"USD {unit}".strip(), "why not")]
    for number, row in nearest_rows(told):
        rent = f"{row['usd_per_hour']:.2f}" if "usd_per_hour" in row else ""
        cost = three_figures(row["objective"]) if "objective" in row else ""
        table.append((f"{number}", row["gpu"], f"{row['gpus']:,.0f}", _from(row, book), rent, cost, row["reason"]))
    return ["The next choices", *columns(table)] if len(table) > 1 else []


def _from(row, book):
    own = {True: " (yours)", False: " (not yours)"}[bool(row["yours"])] if book.attrs["own"] else ""
    return row["provider"] + own if "provider" in row else ""


def side_by_side(first: str, second: str, table) -> list[str]:
    """Two cases or choices as lines."""
    cells = [("", first, second, "better"), *table.itertuples(index=False, name=None)]
    return columns([(what, one, other, won) for what, one, other, won in cells], shares=(0.2, 0.34, 0.34, 0.12))


def columns(table: list[tuple], shares: tuple = ()) -> list[str]:
    """Cells in columns of at most WIDTH characters together; the last column takes what is left, unless `shares` say else."""
    widths = [int(WIDTH * share) - 2 for share in shares] or [max(map(len, column)) for column in zip(*table)]
    if not shares:
        widths[-1] = max(WIDTH - sum(width + 2 for width in widths[:-1]), 20)
    lines = []
    for row in table:
        wrapped = [wrap(cell, width) or [""] for cell, width in zip(row, widths)]
        for place in range(max(map(len, wrapped))):
            parts = [cell[place] if place < len(cell) else "" for cell in wrapped]
            lines.append("  ".join(f"{part:<{width}}" for part, width in zip(parts, widths)).rstrip())
    return lines
