"""What the site makes of a page that a notebook wrote as one lesson: its place in the course, the answer below the guess,
parameters at the foot, what is in depth folded by name, formulas with numbers, sources as links."""

import csv
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from ..components.links import contents, CORE, PAGES
from .finish import settings
from .glossary import NO_LINK_IN, explain_terms

HERE = Path(__file__).parents[1]
CLAIMS = HERE.parent / "data" / "claims.csv"
# The part of the table of contents that has the lessons.
COURSE = "Learn"
FORMULA = re.compile(r'<div class="formula" id="([\w-]+)">')
FOLD_ENDS = "</details></div>"
# What pandas writes of a frame, and of a number in it.
FRAME = '<table border="1" class="dataframe">'
FIGURE = re.compile(r"<td>(-?[\d.]+(?:e[-+]\d+)?)</td>")
# Parts of a page that the search doesn't read.
SKIPPED = {"cell_input", "pasted-text"}
MAY_NAME = re.compile(r"arXiv|[\w:]/[\w/]|\w\.[a-z]{2,3}\b")


@cache
def topics():
    """The pages of lessons, in the order of the course."""
    return list(contents(HERE / "_toc.yml").get(COURSE, {}))


def place(name):
    """Where in the course a lesson stands: `Lesson 2 of 17`."""
    where = f"Lesson {topics().index(name) + 1} of {len(topics())}"
    return f"{where} · Core" if name in CORE else where


class LessonPage(SphinxTransform):
    # Before Sphinx collects what is in the index (850) and the contents of pages (880).
    default_priority = 800

    def apply(self):
        name, page = self.env.docname, next(self.document.findall(nodes.section), None)
        if page is None:
            return
        link_sources(self.document)
        for raw in self.document.findall(nodes.raw):
            if FRAME in raw.astext():
                raw.children[:] = [nodes.Text(frame_table(raw.astext()))]
        source = Path(self.env.doc2path(name))
        if source.suffix == ".ipynb":
            foot = [addnodes.download_reference("", "", nodes.Text("Download this notebook"), reftarget=f"/{source.name}",
                                                classes=["download"]), *repository_links(name, repository())]
            if name in topics():
                arrange(page, name, is_rerun(source))
            put_code_below(page)
            add_foot(page, foot)
            self.add_claims(page, name)
            if name in topics():
                explain_terms(page)

    def add_claims(self, page, name):
        """How many claims of others on the subject of a page are checked, with a link to these, before the page's foot."""
        if "claims" not in self.env.found_docs or name not in PAGES:
            return
        self.env.note_dependency(str(CLAIMS))
        if count := claims()[name]:
            last = next((each for each in page if "run-it-with-your-numbers" in each.get("ids", [])), in_depth(page))
            page.insert(page.index(last) if last is not None else len(page), claims_line(count, PAGES[name]))


@cache
def repository():
    """The address of the repository, read once for all pages; empty if unknown."""
    return settings()[1]


def is_rerun(source):
    """Whether the notebook ran with other than its own parameters."""
    cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
    return any("injected-parameters" in cell["metadata"].get("tags", []) for cell in cells)


def cell_of(page, sign):
    return next((cell for cell in page.findall(nodes.container) if sign(cell)), None)


def html(text):
    return nodes.raw("", text, format="html")


# What paper leaves out unless it is asked for: what is in depth, the code of figures, rows beyond the first.
PRINT_ALL = ('<p class="print-all"><label><input type="checkbox"> On paper too, with the code of figures and all rows of tables'
             "</label></p>")


def arrange(page, name, rerun):
    """Puts a lesson's parts where its reader wants them."""
    introduce(page, name)
    guess = cell_of(page, lambda cell: "cell" in cell["classes"] and any('class="guess"' in raw for raw in raws(cell)))
    headline = cell_of(page, lambda cell: "tag_headline" in cell["classes"])
    if headline is not None and guess is not None:
        headline.parent.remove(headline)
        put_inside(guess, headline, rerun)
    number = topics().index(name) + 1
    for count, raw in enumerate((raw for raw in page.findall(nodes.raw) if FORMULA.search(raw.astext())), 1):
        link = rf'<a class="formula-number" href="#\1" aria-label="formula {number}.{count}">{number}.{count}</a>'
        raw.children[:] = [nodes.Text(FORMULA.sub(rf"\g<0>{link}", raw.astext()))]
    for section in below_in_depth(page):
        section["classes"].append("depth")
        section.insert(1, html("</summary>"))
    if (depth := in_depth(page)) is not None:
        depth.insert(1, html(PRINT_ALL))


def put_inside(guess, headline, is_open):
    """The answer of the whole page stands in the guess's fold, below what was asked."""
    box = next(raw for raw in guess.findall(nodes.raw) if 'class="guess"' in raw.astext())
    shown = box.astext().replace("<details>", "<details open>") if is_open else box.astext()
    box.children[:] = [nodes.Text(shown.removesuffix(FOLD_ENDS) + '<div class="whole">')]
    box["classes"] = []  # with any, a wrapper would close what is opened here
    at = box.parent.index(box) + 1
    box.parent[at:at] = [headline, html(f"</div>{FOLD_ENDS}")]


def put_code_below(page):
    """The folded code of a figure, one cell or several, stands in one fold below the figure, which the next cell shows."""
    def is_code(node):
        return isinstance(node, nodes.container) and "tag_hide-input" in node["classes"] and len(node) == 1

    for cell in list(page.findall(nodes.container)):
        if "cell" in cell["classes"] and not cell.children:
            cell.parent.remove(cell)    # else it would pass for the figure
    for cell in reversed(list(page.findall(is_code))):
        around, at = cell.parent, cell.parent.index(cell)
        shown = around[at + 1] if at + 1 < len(around) else None
        if isinstance(shown, nodes.container) and "tag_remove-input" in shown["classes"]:
            around[at:at + 2] = [shown, cell]
            if at + 2 < len(around) and is_code(around[at + 2]):
                cell[0].extend(around.pop(at + 2)[0].children)


def frame_table(shown):
    """A frame as pandas shows it, as a table of the book: pandas' own has styles, which the site's policy refuses."""
    head, _, rest = shown[shown.index(FRAME) + len(FRAME):].partition("</thead>")
    rows = [re.findall(r"<th\b[^>]*>(.*?)</th>", row, re.DOTALL) for row in head.split("</tr>")[:-1]]
    # The name of the index has a row of its own.
    names = [above or below for above, below in zip(*rows)] if len(rows) == 2 and len(rows[0]) == len(rows[1]) else rows[0]
    heads = "".join(f'<th scope="col">{each or "row"}</th>' for each in names)
    body = re.sub(r"<th>(.*?)</th>", r"<td>\1</td>", rest.partition("</table>")[0], flags=re.DOTALL)
    body = FIGURE.sub(r'<td class="number" data-value="\1">\1</td>', body.replace("<td>NaN</td>", "<td>–</td>"))
    return f'<div class="table-scroll"><table class="data"><thead><tr>{heads}</tr></thead>{body.strip()}</table></div>'


def raws(node):
    return [raw.astext() for raw in node.findall(nodes.raw)]


def introduce(page, name):
    """The line of a lesson's time and needs, with its place in the course before it."""
    line = page[1] if len(page) > 1 and isinstance(page[1], nodes.paragraph) else None
    said = [nodes.inline("", place(name), classes=["lesson-place"])]
    if line is not None and len(line) == 1 and isinstance(line[0], nodes.emphasis):
        said += [nodes.Text(" "), *line[0].children]
        page.remove(line)
    page.insert(1, nodes.paragraph("", "", *said, classes=["lesson-meta"]))


def in_depth(page):
    return next((each for each in page if isinstance(each, nodes.section) and each[0].astext() == "In depth"), None)


def below_in_depth(page):
    return [each for each in in_depth(page) or [] if isinstance(each, nodes.section)]


def add_foot(page, foot):
    """How to run the lesson again: its parameters and where to get it."""
    title = "Run it with your numbers"
    parameters = cell_of(page, lambda cell: "tag_parameters" in cell["classes"])
    if parameters is None:
        return page.append(line_of(foot))
    parameters.parent.remove(parameters)
    section = nodes.section("", nodes.title("", title), parameters, line_of(foot), ids=["run-it-with-your-numbers"],
                            names=[title.lower()])
    depth = in_depth(page)
    page.insert(page.index(depth) if depth is not None else len(page), section)


@cache
def claims():
    """How many claims of others belong to each page."""
    with open(CLAIMS, encoding="utf-8", newline="") as file:
        return Counter(row["page"] for row in csv.DictReader(file))


def claims_line(count, title):
    said = f"{count} claims on this are checked: see them" if count > 1 else "One claim on this is checked: see it"
    link = nodes.reference("", said, refuri=f"claims.html#lesson={quote(title)}", internal=True)
    return nodes.paragraph("", "", link, classes=["page-claims"])


def line_of(found):
    line = nodes.paragraph(classes=["page-links"])
    for each in found:
        line += [nodes.Text(" · "), each] if len(line) else [each]
    return line


def repository_links(name, repository):
    """Where the notebook opens; nothing while the repository is unknown."""
    if not repository:
        return []
    project, notebook = repository.removeprefix("https://github.com/"), f"notebooks/{name}.ipynb"
    addresses = {
        "Open in Colab": f"https://colab.research.google.com/github/{project}/blob/HEAD/{notebook}",
        "Open in Binder": f"https://mybinder.org/v2/gh/{project}/HEAD?urlpath={quote('lab/tree/' + notebook, safe='')}",
    }
    return [nodes.reference("", said, refuri=to, internal=False) for said, to in addresses.items()]


def link_sources(document):
    """Papers, repositories and sites that the text names become links."""
    for text in [text for text in document.findall(nodes.Text) if MAY_NAME.search(text) and not is_inside(text, NO_LINK_IN)]:
        # Few pages name any, and what reads them takes long to load.
        from ..components.links import links

        found = links(text.astext())
        if any(to for _, to in found):
            text.parent.replace(text, [nodes.reference("", said, refuri=to, internal=False) if to else nodes.Text(said)
                                       for said, to in found])


def is_inside(node, kinds):
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


def visit_section(translator, node):
    type(translator).visit_section(translator, node)
    if "depth" in node["classes"]:
        translator.body.append('<details class="depth"><summary>')


def depart_section(translator, node):
    if "depth" in node["classes"]:
        translator.body.append("</details>")
    type(translator).depart_section(translator, node)


def searched(page):
    """What the search reads of a page: no code, which has the same names everywhere, and nothing twice."""
    return nodes.container("", *read_of(page))


def read_of(node):
    """The parts of a page that hold words, one after the other; a title in a section, which names its place."""
    for child in node.children:
        if isinstance(child, (nodes.Text, nodes.raw, nodes.comment, nodes.meta, addnodes.index)):
            yield child.deepcopy()
        elif isinstance(child, nodes.title):
            yield nodes.section("", child.deepcopy(), ids=node.get("ids", []))
        elif not SKIPPED & set(child["classes"]):
            yield from read_of(child)


def search_text_only(app):
    if hasattr(app.builder, "index_page"):
        index = app.builder.index_page
        app.builder.index_page = lambda page, doctree, title: index(page, searched(doctree), title)


def setup(app):
    app.add_transform(LessonPage)
    app.add_node(nodes.section, override=True, html=(visit_section, depart_section))
    app.connect("builder-inited", search_text_only)
