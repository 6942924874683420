"""A table to look something up in: groups of columns, a search, filters, and any two rows side by side.

All of it is in the page: without a script, on paper and in Jupyter it is a plain table. book/static/catalogue.js adds the rest.
"""
import html

from .dates import marked, marked_date
from .links import linked
from .show import Html, cell_text, label

_LONG = 40  # letters from which a cell breaks into lines


def catalogue_table(frame, caption, groups, better=None, filters=(), labels=None, formats=None, compare=False,
                    links=None):
    """A data frame as a table of the catalogue; the first column names the rows.

    groups: columns by the name under which they are shown together; one may be in several. better: "high" or "low" by column,
    for two rows side by side. filters: columns of words to choose from, which the search reads beside the names. labels, formats:
    as `show.table` takes them. compare: whether two rows may be put side by side. A column `..._date` is of a price, whose age
    the page adds. links: by column the address that each of its texts leads to.
    Raises ValueError naming the columns that stand in no group or in no frame.
    """
    labels, formats, better, links = labels or {}, formats or {}, better or {}, links or {}
    others = list(frame.columns)[1:]
    _check(others, [name for names in groups.values() for name in names] + [*filters, *better])
    places = {name: " ".join(str(place) for place, names in enumerate(groups.values()) if name in names) for name in others}
    marks = {name: f' data-group="{places[name]}"' for name in others}
    for name, way in better.items():
        marks[name] += f' data-better="{way}"'
    for name in filters:
        marks[name] += f' data-filter="{html.escape(name)}"'
    numbers = {name for name in others if not all(isinstance(value, str) for value in frame[name].dropna())}
    heads = [_head(name, labels, marks.get(name, ""), name in numbers) for name in frame.columns]
    rows = [_row(row, formats, links) for row in frame.to_dict("records")]
    named = html.escape("|".join(groups))
    return Html(f'<figure class="data-table catalogue" data-groups="{named}"{" data-compare" * compare}>'
                f'<figcaption>{marked(caption)}</figcaption><div class="table-scroll"><table class="data">'
                f'<thead><tr>{"".join(heads)}</tr></thead><tbody>{"".join(rows)}</tbody></table></div></figure>',
                f"{caption} ({len(frame)} rows)")


def _check(others, named):
    for fault, names in (("in no group", set(others) - set(named)), ("not in the frame", set(named) - set(others))):
        if names:
            raise ValueError(f"columns {fault}: {', '.join(sorted(names))}; allowed: each column but the first in a group")


def _head(name, labels, marks, is_number):
    return f'<th scope="col"{marks}{" class=number" * is_number}>{html.escape(labels.get(name) or label(name))}</th>'


def _row(row, formats, links):
    first, *others = row
    cells = [_cell(name, row[name], formats, links.get(name, {})) for name in others]
    return f'<tr><th scope="row"{" class=long" * (len(row[first]) > _LONG)}>{html.escape(row[first])}</th>{"".join(cells)}</tr>'


def _cell(name, value, formats, addresses):
    if value is None or value != value:
        return "<td>–</td>"
    if not isinstance(value, str):
        return f"<td data-value={_full(float(value))}>{html.escape(cell_text(name, value, formats))}</td>"
    if value in addresses:
        return f'<td><a href="{html.escape(addresses[value])}">{html.escape(value)}</a></td>'
    shown = marked_date(value) if name.endswith("_date") else linked(value)
    return f'<td class=long>{shown}</td>' if len(value) > _LONG else f"<td>{shown}</td>"


def _full(value):
    """A count to its last digit; what follows from others is exact to twelve, which every processor agrees on."""
    short = f"{value:.12g}"
    return f"{value:.15g}" if value.is_integer() and float(short) != value else short
