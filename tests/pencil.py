"""A reader's pencil: computes what stands before an equals sign from the printed, rounded figures, and says whether what stands after it
lies within what their rounding allows.

`python -m tests.pencil [PAGE ...]` prints how many figures of each lesson it computes again, and which do not come out.
"""
import contextlib
import html
import itertools
import math
import operator
import re
import sys

import nbformat

from book.build.inputs import ROOT
from book.components.links import contents

LESSONS = list(contents()["Learn"])
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "m": 1e-3, "µ": 1e-6, "μ": 1e-6}
WORDS = {"million": 1e6, "billion": 1e9, "trillion": 1e12, "%": 0.01, "GiB": 2**30, "MiB": 2**20, "kWh": 1, "kW": 1}
TIMES = {"min": 60, "h": 3600, "hour": 3600, "hours": 3600, "days": 86400, "day": 86400, "months": 730 * 3600, "month": 730 * 3600,
         "years": 8760 * 3600, "year": 8760 * 3600}
FIGURE = r"(?:−?[\d,]*\d(?:\.\d+)?(?:e[+−-]?\d+)?)"
_NAMED = r"(?:GPU-hours|tokens?|bits?|USD|requests?|users?|kWh|kW|kg|Hz|Wh|GiB|MiB|[kMGTPEmµμ]?(?:FLOP|B|W|s)|" + "|".join(TIMES) + r")(?![\w-])"
UNIT = rf"(?: (?:million|billion|trillion)(?!\w))?(?: ?%| a (?:year|month|day)| 1/[a-z]+| {_NAMED}(?:/(?:GB-month|kW-month|GB|{_NAMED}))?)?"
TERM = re.compile(rf"(?!the (?:larger|smaller|largest|smallest|square) )[^\W\d][^()=×+²^−]*? \(({FIGURE})({UNIT})\)")
BARE = re.compile(rf"({FIGURE})({UNIT})(?: \([^()\d]*\))?(?![^\W²]|\.\d)")
EXTREMES = re.compile("the (larger|largest|smaller|smallest) of ")
ENDS = re.compile(r", (0 if less|0 if more|rounded down|rounded up|at least |at most )")
SUM = re.compile(rf"(?:{FIGURE}{UNIT} [×+−/] )+{FIGURE}{UNIT}$")
BETWEEN = re.compile("(.*) between (.*) and (.*)")
RESULT = re.compile(rf"(?>({FIGURE})({UNIT}))(?=[.,;:]?(?: |$|\*))(?! [×+−/^]| if )")


def scale(unit, times):
    """How much of the SI unit one is: a kB is a thousand, a rate has a size above its line and one below."""
    above, _, below = unit.strip().partition("/")
    return _size(above, times) / (1 if below == "GB" and "GB" in times else _size(below, times))


def _size(words, times):
    size = 1.0
    for word in words.split():
        bases = [word[:-len(base)] for base in ("FLOP", "B", "W", "s") if word.endswith(base) and word[:-len(base)] in PREFIXES]
        size *= WORDS.get(word) or (times.get(word) if word in TIMES else PREFIXES[bases[0]] if bases else 1)
    return size


def ends(figure, unit, times=TIMES, given=True):
    """Between which values a printed figure was rounded: to three figures, unless it is given and a whole count, or shorter than that."""
    digits = figure.replace(",", "").replace("−", "-")
    mantissa, _, power = digits.partition("e")
    whole, _, decimals = mantissa.lstrip("-").partition(".")
    thousands = not decimals and len(whole) > 3 and not whole[3:].strip("0")
    half = 0.5 * 10 ** (-len(decimals) if decimals else len(whole) - 3 if thousands else 0) * 10 ** float(power or 0)
    exact = given and not decimals and (len(whole) < 3 or not unit.strip() and not thousands)
    return tuple((float(digits) + sign * half * (not exact)) * scale(unit, times) for sign in (-1, 1))


OPERATORS = {"+": operator.add, "−": operator.sub, "×": operator.mul, "÷": operator.truediv, "/": operator.truediv, "^": operator.pow}


def _joined(does, left, right):
    return lambda held: does(left(held), right(held))


class Unread(Exception):
    """Words that no pencil computes."""


class Line:
    """A formula with its numbers, read from left to right; `values` are the figures in it, one for each that has a name."""

    def __init__(self, text):
        self.text, self.at, self.values, self.work = text.strip(), 0, {}, 0
        self.tree = self.whole()
        if self.at != len(self.text) or not self.values:
            raise Unread(self.text[self.at:])

    def take(self, pattern):
        found = (pattern if isinstance(pattern, re.Pattern) else re.compile(re.escape(pattern))).match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def whole(self):
        tree = self.sum()
        if self.take(" if "):
            tree = self.either(tree)
        while found := self.take(ENDS):
            self.work += 1
            tree = self.ended(tree, found[1])
        return tree

    def either(self, inner):
        """What follows `1 if `: a comparison, and what is taken where it does not hold."""
        self.work += 1
        left, sign = self.sum(), self.take(re.compile(r" ([<>≤≥]) "))
        right = sign and self.sum()
        if not (sign and self.take("; ")):
            raise Unread(self.text[self.at:])
        other = self.sum()
        if not self.take(" otherwise"):
            raise Unread(self.text[self.at:])
        does = {"<": operator.lt, ">": operator.gt, "≤": operator.le, "≥": operator.ge}[sign[1]]
        return lambda held: inner(held) if does(left(held), right(held)) else other(held)

    def ended(self, inner, how):
        if how.startswith("rounded"):
            return (lambda held: math.floor(inner(held) + 1e-9)) if how == "rounded down" else lambda held: math.ceil(inner(held) - 1e-9)
        pick = max if how in ("0 if less", "at least ") else min
        bound = self.sum() if how.startswith("at") else lambda held: 0
        return lambda held: pick(inner(held), bound(held))

    def chain(self, part, signs):
        tree = part()
        while found := self.take(re.compile(f" ?([{re.escape(signs)}]) ?")):
            self.work += 1
            tree = _joined(OPERATORS[found[1]], tree, part())
        return tree

    def sum(self):
        return self.chain(lambda: self.chain(lambda: self.chain(self.square, "^"), "×/÷"), "+−")

    def square(self):
        tree = self.atom()
        if self.take("²"):
            self.work += 1
            return lambda held: tree(held) ** 2
        return tree

    def atom(self):
        if self.take("−"):
            inner = self.square()
            return lambda held: -inner(held)
        if found := self.take(EXTREMES):
            self.work += 1
            parts, pick = [self.sum()], max if found[1].startswith("l") else min
            while self.take(re.compile(r", (?!0 if|rounded|at )| and ")):
                parts.append(self.sum())
            return lambda held: pick(part(held) for part in parts)
        for words, does in (("the square root of ", math.sqrt), ("ln", math.log), ("exp", math.exp)):
            if self.text.startswith(words, self.at) and self.text.startswith(("(", " ("), self.at + len(words.rstrip())):
                self.at += len(words)
                self.take(" ")
                inner = self.atom()
                return lambda held, does=does, inner=inner: does(inner(held))
        if self.take("("):
            inner = self.whole()
            if not self.take(")"):
                raise Unread(self.text[self.at:])
            return inner
        found = self.take(BARE) or self.take(TERM)
        if not found:
            raise Unread(self.text[self.at:])
        name = found[0] if found.re is TERM else (self.at, found[0])       # a figure without a name may be another one each time
        self.values[name] = found[1], found[2]
        return lambda held: held[name]

    def span(self, times, computed, apart):
        """The least and the greatest result that the printed figures allow, to first order.

        apart: whether a figure that stands twice without a name may be two that are rounded alike.
        """
        held = {name: name if apart or isinstance(name, str) else name[1] for name in self.values}
        bounds = {held[name]: ends(figure, unit, times, figure not in computed) for name, (figure, unit) in self.values.items()}
        middle = {name: sum(pair) / 2 for name, pair in bounds.items()}
        center = self.tree({name: middle[key] for name, key in held.items()})
        moves = [[self.tree({name: end if key == each else middle[key] for name, key in held.items()}) - center for end in pair]
                 for each, pair in bounds.items() if pair[0] != pair[1]]
        return center + sum(min(0, *pair) for pair in moves), center + sum(max(0, *pair) for pair in moves)


def worked(said, result, computed=()):
    """Whether the result is among those that the printed figures allow; None where the line holds words that no pencil computes.

    A unit of time counts in seconds, or as it is printed where a constant turns one into another; so does a gigabyte that is paid for.
    computed: figures that the page computes, so that a whole number may be a rounded one.
    """
    if between := BETWEEN.fullmatch(said):
        parts = [re.match(f"({FIGURE})({UNIT})", part).groups() for part in between.groups()]
        middle, low, high = (ends(figure, unit or parts[0][1], given=False) for figure, unit in parts)
        return low[0] <= middle[1] and middle[0] <= high[1]
    try:
        line = Line(said)
    except Unread:
        return None
    printed, found = re.match(rf"({FIGURE})({UNIT})", result).groups(), []
    for times, apart in itertools.product((TIMES, dict.fromkeys(TIMES, 1), TIMES | {"GB": 1}), (True, False)):
        with contextlib.suppress(ZeroDivisionError, OverflowError):
            found.append(_within(line.span(times, computed, apart), ends(*printed, times, given=False)))
    return any(found)


def _within(found, printed):
    slack = 1e-9 * max(map(abs, printed))
    return found[0] <= printed[1] + slack and found[1] >= printed[0] - slack


def plain(markup):
    text = re.sub(r'<span class="bare">(.*?)</span>', r"\1", markup, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", text))).replace("\u202f", " ").replace("\xa0", " ").strip()


def told(path, forms=("text/html", "text/markdown")):
    """What a recording tells a reader, block by block: (number of the cell, markup)."""
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "markdown":
            yield number, cell.source
        for output in cell.get("outputs", []):
            for form in forms:
                if text := "".join(output.get("data", {}).get(form, "")):
                    yield number, text


def lines(path):
    """The sums of a recording: (what is computed, its result as printed) of each formula, derivation, answer and sentence."""
    for _, text in told(path):
        text = re.sub(r"\$\$.*?\$\$|```.*?```|<style.*?</style>", "", text, flags=re.DOTALL)
        for block in re.split(r"</?(?:li|p|summary|details|ul|ol|tr|td|th|text|div|h\d|figure|figcaption|svg)\b[^>]*>|\n\n|\n[-|]", text):
            parts = plain(block).split(" = ")
            for left, right in itertools.pairwise(parts):
                result = RESULT.match(right.lstrip("*"))
                said = _sum(left) if result else None
                if said:
                    yield said, result[0]


def _sum(left):
    """What of the text before an equals sign is computed: all of it if it can be read, else the sum of bare figures at its end."""
    for said in (left, re.split(r"(?<=[.:;]) |\*\*", left)[-1]):
        try:
            if Line(said).work:
                return said
        except Unread:
            pass
    if " if " in left:      # a comparison stands in words, the figures of each side below it
        return None
    tail = SUM.search(left.strip("* "))
    return tail[0] if tail else left if re.search(r"\d\)? [×/+] ", left) else None


# What holds between the figures of a sentence, or of a picture with its caption, labels and text alternative.
F = rf"(?<![\d,.])({FIGURE}{UNIT})"
SAID = [
    (rf"{F} instead of\s+{F},\s+{F} less", "1 − {1} / {2}", "{3}"),
    (rf"{F} instead of {F} .*, {F} more", "{1} / {2} − 1", "{3}"),
    (rf"blocks hold {F} tokens: {F} times as many as one sequence of {F}", "{1} / {3}", "{2}"),
    (rf"{F} of a \S+ layer sits in its MLP.*Attention has {F} .*the rest has {F} ", "{3} / ({2} + {3})", "{1}"),
    (rf"reads \S+ {F} times as long as it computes.*One user writes a token: computing takes {F} of it", "1 / {2}", "{1}"),
    (rf"One user writes a token: computing takes {F} of it. {F} users write a token each: computing takes {F} of it", "{1} × {2}", "{3}"),
    (rf"Beside the weights, {F} sequences .* Of {F} the weights take {F}, the engine keeps back {F}, and {F} sequences of {F} fill",
     "({2} − {3} − {4}) / {6}, rounded down", "{1}"),
    (rf"so one takes {F} alt: .*: {F} weights of {F} and {F} that", "{3} + {4} / {2}", "{1}"),
    (rf"^Memory peaks at {F}, .* model state {F} \| activations {F} \| logits and loss {F}", "{2} + {3} + {4}", "{1}"),
    (rf"^Memory peaks at {F}, .*state of {F} stays .*State is {F} of", "{2} / {1}", "{3}"),
    (rf"^Training a weight takes {F},.*weight {F}, gradient {F}, master copy {F}, moments {F}; Trained with 8", "{2} + {3} + {4} + {5}", "{1}"),
    (rf"8-bit AdamW: weight {F}, gradient {F}, master copy {F}, moments {F};.*8-bit AdamW \| {F}", "{1} + {2} + {3} + {4}", "{5}"),
    (rf"On each of {F} GPUs: no ZeRO {F}; .*ZeRO-3 {F}", "{2} / {1}", "{3}"),
    (rf"what {F} GPUs hold, each sends {F} times", "2 × ({1} − 1) / {1}", "{2}"),
    (rf"^Two GPUs behind a switch have {F} times .*: \S+ SXM \S+ {F}, .*RTX 4090 24GB {F}", "{2} / {3}", "{1}"),
    (rf"^{F} requests a second that stay {F} each are {F} inside", "{1} × {2}", "{3}"),
    (rf"^The GPUs multiply matrices in {F} .*products {F}, norms, activations, sums {F}, tensor parallel {F}, sends between stages {F}, "
     rf"bubble of the pipeline {F}, data parallel {F}", "{2} / ({2} + {3} + {4} + {5} + {6} + {7})", "{1}"),
    (rf"fills and drains: {F} of the time with {F} micro.*alt: {F} stages", "({3} − 1) / ({2} + {3} − 1)", "{1}"),
    (rf"tensor parallel {F}, pipeline parallel {F}, context parallel {F}, data parallel {F}\..* on {F} GPUs", "{1} × {2} × {3} × {4}", "{5}"),
    (rf"The server alone is {F} of an owned hour of {F} alt: server {F}", "{3} / {2}", "{1}"),
    (rf"alt: server {F}, network and spares {F}, sold at the end {F}, rack space {F}, support and repairs {F}, staff {F}, power {F}. Together {F}",
     "{1} + {2} + {3} + {4} + {5} + {6} + {7}", "{8}"),
    (rf"In turn: writing {F}, scoring {F}, training {F}, sending {F}, a step {F}", "{1} + {2} + {3} + {4}", "{5}"),
    (rf"hours count.*all of it paid: \| {F} moves it forward \| {F} lost", "{1} + {2}", "100.0 %"),
    (rf"prompts for {F} of the hour.*answers for {F} of the hour.*waits for {F} of", "{1} + {2} + {3}", "100.0 %"),
    (rf"kept: {F}; .*of them: \| compute, {F} \| storage, {F} \| copy, {F} \| egress, {F} \| managed, {F}", "{2} + {3} + {4} + {5} + {6}", "{1}"),
    (rf"{F} slices are less .*multiprocessors: {F} in each slice \| {F} in none", "{1} × {2} + {3}", "100.0 %"),
    (rf"{F} slices are less .*\| memory: {F} in each slice \| {F} in none", "{1} × {2} + {3}", "100.0 %"),
]
# What holds between the columns of every table that has them.
ROWS = [("{predicted} / {published} − 1", "{error}"), ("{formula} / {measured} − 1", "{off}"),
        ("{computes} / {reads}", "{ridge point, FLOP/B}"), ("{bits a weight} / 8", "{bytes a weight}"),
        ("{weight} + {copies} + {gradient} + {master copy} + {moments}", "{together}"),
        ("{weights} + {gradients} + {master weights} + {optimizer state} + {held whole}", "{together}"),
        ("{weights} + {gradients} + {master weights} + {optimizer state}", "{model state on one GPU}"),
        ("{logits and inputs} + {loss}", "{together}"), ("{state} + {activations} + {logits and loss} + {the rest}", "{all}"),
        ("{own rate, USD/h} × (1 + {premium})", "{managed, USD/h}"), ("{published} / {rate of the ports}", "{share of it}")]
BAND = re.compile(rf"(?:plan(?: for)? |^|\| ){F}(?: \(|, 8 in 10 (?:between )?){F} (?:to|and) {F}")


def tables(path):
    """The tables of a recording: rows of cells as text, the heads first."""
    for _, text in told(path):
        for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
            yield [[plain(cell) for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row, re.DOTALL)]
                   for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]
        for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
            yield [[plain(cell) for cell in row.strip("| ").split("|")] for row in table.splitlines() if set(row) - set("|-: ")]


def sentences(path):
    """The sentences of a recording, and each picture as one: its caption, what it says to who cannot see it, its labels."""
    for _, text in told(path):
        for figure in [drawn for drawn in re.findall(r"<figure.*?</figure>", text, re.DOTALL) if "aria-label" in drawn]:
            caption, alt = (re.search(mark, figure, re.DOTALL)[1] for mark in ("<figcaption>(.*?)</figcaption>", 'aria-label="(.*?)"'))
            labels = " | ".join(map(plain, re.findall(r"<text.*?</text>", figure, re.DOTALL)))
            yield f"{plain(caption)} alt: {html.unescape(alt)} {labels}"
        if "<table" not in text and "<svg" not in text:
            yield from re.split(r"(?<=[.;]) (?=[A-Z])", plain(text))


def _of_text(text):
    for pattern, said, result in SAID:
        if found := re.search(pattern, text):
            held = {str(number): figure for number, figure in enumerate(found.groups(), 1)}
            yield _filled(said, held), _filled(result, held)
    for middle, low, high in BAND.findall(text):
        yield f"{middle} between {low} and {high}", middle


def _of_rows(rows):
    heads = rows[0] if rows else []
    for said, result in ROWS:
        if set(re.findall(r"{(.*?)}", said + result)) <= set(heads):
            for row in rows[1:]:
                held = {head: cell.lstrip("+") for head, cell in zip(heads, row)}
                if all(re.fullmatch(rf"{FIGURE}{UNIT}", held.get(head, "")) for head in re.findall(r"{(.*?)}", said + result)):
                    yield _filled(said, held), _filled(result, held)
    shares = [place for place, head in enumerate(heads) if head == "share"]
    for place in shares:
        column = [row[place] for row in rows[1:] if len(row) > place and row[place] != "100 %"]
        yield " + ".join(column), "100.0 %"
    for row in rows[1:]:
        for cell in row:
            if found := re.fullmatch(rf"{F} \({F} to {F}\)", cell):
                yield "{} between {} and {}".format(*found.groups()), found[1]


def _filled(text, held):
    return re.sub(r"{(.*?)}", lambda found: held[found[1]], text)


def checked(path):
    """Each sum of a recording, its result, and whether it comes out."""
    sums = list(dict.fromkeys([*lines(path), *(pair for text in sentences(path) for pair in _of_text(text)),
                               *(pair for rows in tables(path) for pair in _of_rows(rows))]))
    computed = {figure for _, result in sums if len(figure := result.partition(" ")[0]) == 3}
    return [(said, result, worked(said, result, computed)) for said, result in sums]


def main():
    total = [0, 0, 0]
    for lesson in sys.argv[1:] or LESSONS:
        found = checked(ROOT / f"notebooks/{lesson}.ipynb")
        wrong, unread = [each for each in found if each[2] is False], [each for each in found if each[2] is None]
        total = [a + b for a, b in zip(total, (len(found), len(wrong), len(unread)))]
        print(f"{lesson:<22}{len(found):>6} sums {len(wrong):>4} wrong {len(unread):>4} unread")
        for said, result, right in wrong + unread:
            print("   ", "WRONG " if right is False else "unread", said[:250], "=>", result)
    print(total)


if __name__ == "__main__":
    main()
