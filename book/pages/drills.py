"""The page of drills as a notebook has it: where its script asks, what the levels mean, and a sheet that needs no script."""
import html
import random

from gpucalc.core import figures
from ..components.show import Html, table
from ..web import drills

# What stands where the page's script puts the drills.
_APP = ('<div id="drill-app"><p>Here the page asks one question after the other. No script runs now: '
        "the sheet below has questions of each topic.</p></div>")


def app() -> Html:
    """Where the page drills."""
    return Html(_APP, "The drills, on the page itself")


def levels_table() -> Html:
    """What the levels mean, with the number of drills of each."""
    from pandas import DataFrame
    every = drills.drills().values()
    frame = DataFrame([dict(level=str(level), asks=said.capitalize(), drills=sum(one.level == level for one in every))
                       for level, said in drills.LEVELS.items()])
    return table(frame, "The levels", labels={"asks": "what a question takes"})


def sheet() -> Html:
    """One draw of two drills by topic, with the key folded: for print, and for who runs no scripts."""
    asked, key = [], []
    for topic in drills.topics():
        drawn = [(one, _drawn(one)) for one in shown(topic)]
        title = f"<h3>{html.escape(drills.title(topic))}</h3>"
        lines = "".join(f"<li>{html.escape(_question(one, case))}</li>" for one, case in drawn)
        answers = "".join(f"<li>{html.escape(figures.in_unit(one.answer(case), one.unit))}</li>" for one, case in drawn)
        asked.append(f"{title}<ol>{lines}</ol>")
        key.append(f"{title}<ol>{answers}</ol>")
    folded = f'<details class="drill-key"><summary>Key</summary>{"".join(key)}</details>'
    return Html(f'<div id="drill-sheet">{"".join(asked)}{folded}</div>', "A sheet of questions with a key")


def shown(topic: str) -> list[drills.Drill]:
    """The drills of a topic on the sheet that needs no script: the first of one step and the first of one formula."""
    first = {one.level: one for one in reversed(drills.drills(topic).values())}
    return [first[level] for level in (1, 2) if level in first]


def _drawn(one):
    """One draw of a drill, the same each time."""
    draw = random.Random(one.name)
    return one.case({name: draw.choice(values) for name, values in one.draw.items()})


def _question(one, case):
    return f"{one.asked(case)} {drills.asked_in(one.unit)}".rstrip()
