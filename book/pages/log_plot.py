"""Lines over time on a log axis, as a picture: legible on a phone, with the name of each line at its end."""
import itertools
import math

from ..components.picture import WIDE, Sheet

_LEFT, _RIGHT, _GAP, _FOOT = 4, 296, 15, 34


class LogPlot:
    """One panel of a sheet: years across, a quantity up on a log axis.

    show: a value in words, for the axis. grid: (a value, a step): lines across stand at the value times powers of the step.
    series: name -> (color, points (year, value)).
    """

    def __init__(self, sheet, top, tall, years, show, grid, series):
        self.sheet, self.top, self.tall, self.years = sheet, top, tall, years
        start, step = grid
        values = [value for _, points in series.values() for _, value in points]
        powers = [way(math.log(end / start, step)) for way, end in ((math.floor, min(values)), (math.ceil, max(values)))]
        self.ends = [start * step**power for power in powers]
        for power in range(powers[0], powers[1] + 1):
            value = start * step**power
            down = self.down(value)
            sheet.line((_LEFT, down), (_RIGHT, down), thick=0.7).text(_LEFT, down - 3, show(value), color="soft", size=11)

    def across(self, year):
        first, last = self.years
        return _LEFT + 52 + (year - first) / (last - first) * (_RIGHT - _LEFT - 62)

    def down(self, value):
        low, high = (math.log(end) for end in self.ends)
        return self.top + self.tall * (high - math.log(value)) / (high - low)

    def lines(self, series, joined=True):
        """Each line with its name at the right, and dots where points are few; dots alone if they are not `joined`."""
        ends = []
        for name, (color, points) in series.items():
            placed = [(self.across(year), self.down(value)) for year, value in points]
            if joined and len(placed) > 1:
                self.sheet.line(*placed, color=color, thick=2.2)
            for across, down in placed if len(placed) < 9 or not joined else placed[-1:]:
                self.sheet.circle(across, down, 3, color)
            ends.append([placed[-1][1], name, color])
        ends.sort()
        for before, after in itertools.pairwise(ends):
            after[0] = max(after[0], before[0] + _GAP)
        lift = max(0.0, ends[-1][0] - self.top - self.tall)
        for down, name, color in ends:
            self.sheet.text(_RIGHT + 6, down - lift + 4, name, color=color, bold=True, size=12)
        return self

    def marks(self, names):
        """Thin lines up at years with their names below, in a second row where they would touch. names: name -> year."""
        foot, free = self.top + self.tall, 0.0
        for name, year in names.items():
            across, half = self.across(year), 3.2 * len(name)
            touches = across - half < free
            free = free if touches else across + half
            self.sheet.line((across, self.top), (across, foot + 4), thick=0.7, dashed=True)
            self.sheet.text(across, foot + 17 + 14 * touches, name, at="middle", size=11, color="soft")
        return self


def panels(finding, alt, drawn, years, marks, joined=True):
    """Panels under each other over one span of years.

    drawn: (title, tall, show, grid, series) for each, as LogPlot takes them; marks: name -> year, below the last.
    """
    sheet = Sheet(sum(44 + tall for _, tall, *_ in drawn) + _FOOT, WIDE)
    top = 0
    for title, tall, show, grid, series in drawn:
        sheet.text(_LEFT, top + 13, title, bold=True)
        plot = LogPlot(sheet, top + 30, tall, years, show, grid, series).lines(series, joined)
        top += tall + 44
    plot.marks(marks)
    return sheet.picture(finding, alt)
