"""Reference pages from the code: the directives `formulas PAGE` and `functions MODULE [NAME ...]`.

The pipeline makes all pages again when the code or the vocabulary changes, so they note no dependency.
"""
import ast
import importlib
import inspect
import re
from functools import cache

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from gpucalc import LAWS, QUANTITIES
from gpucalc.core.expression import tree
from gpucalc.core.figures import quantity
from gpucalc.core.printer import in_words, words
from gpucalc.rows.texts import read_texts
from .inputs import ROOT

# Letters of an equation above which it stands folded, and the fold.
LONG, FOLD = 500, ("<details><summary>The whole equation, which is long</summary>", "</details>")


class Formulas(SphinxDirective):
    """Every formula of a page of data/texts/formulas.yaml, by part and topic: unit, equation, docstring, and what it takes."""

    required_arguments = 1

    def run(self):
        made = []
        for title, topics in read_texts("formulas")[self.arguments[0]].items():
            part = nodes.section("", nodes.title(title, title), *(each for topic in topics.split() for each in of_topic(topic)),
                                 names=[nodes.fully_normalize_name(title)])
            self.state.document.note_implicit_target(part, part)
            made.append(part)
        return made


def of_topic(topic):
    """What the module of a topic is for, and its formulas."""
    module = importlib.import_module(f"gpucalc.laws.{topic}")
    laws = {name: law for name, law in LAWS.items() if law.__module__ == module.__name__}
    return [*about(module.__name__, inspect.getdoc(module)), listed(formula(name, law) for name, law in laws.items())]


class Functions(SphinxDirective):
    """The functions and classes of a module, or those that are named: signature and docstring, read from its source."""

    required_arguments = 1
    optional_arguments = 100

    def run(self):
        name, *wanted = self.arguments
        path = ROOT / f"{name.replace('.', '/')}.py"
        module = ast.parse(path.read_text(encoding="utf-8"))
        found = {node.name: node for node in module.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        shown = [found[each] for each in wanted or found if not each.startswith("_")]
        items = [item for node in shown for item in described(name, node)]
        return [*about(name, ast.get_docstring(module)), listed(items)]


def described(module, node, owner=""):
    """The entry of a function or class, and of the class's own methods."""
    parts = node.body if isinstance(node, ast.ClassDef) else []
    methods = {each.name: each for each in parts if isinstance(each, ast.FunctionDef)}
    made = methods.get("__init__") if isinstance(node, ast.ClassDef) else node
    given = signature(made) if made else ""
    yield entry(f"{module}.{owner}{node.name}", f"{owner}{node.name}{given}", ast.get_docstring(node))
    for name, method in methods.items():
        if not name.startswith("_") and ast.get_docstring(method):
            yield from described(module, method, f"{node.name}.")


def signature(function):
    """The arguments as they are written, without their types, which say little to a reader."""
    given = function.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))):
        each.annotation = None
    given.args = [each for each in given.args if each.arg not in ("self", "cls")]
    return f"({ast.unparse(given)})"


def about(name, says):
    """How a module is imported, and what it says it is for."""
    package, _, module_name = name.rpartition(".")
    imported = f"from {package.removesuffix('.laws')} import {module_name}"
    return [nodes.paragraph("", "", nodes.literal(imported, imported)), *paragraphs(says)]


def listed(items):
    return nodes.definition_list("", *items, classes=["api"])


def entry(target, shown, says, after=""):
    """One entry: what is called, and its docstring."""
    term = nodes.term("", "", nodes.literal(shown, shown), nodes.Text(after), ids=[nodes.make_id(target)])
    return nodes.definition_list_item("", term, nodes.definition("", *paragraphs(says or "")))


def formula(name, law):
    """The entry of a formula: also its unit, its equation in words, and what it takes in which unit."""
    item = entry(name, name, inspect.getdoc(law), f" → {unit(name)}")
    takes, said = ", ".join(map(taken(law), law.arguments)), nodes.paragraph("", equation(name))
    begins, ends = (nodes.raw("", text, format="html") for text in FOLD)
    item[-1] += [*([begins, said, ends] if len(said.astext()) > LONG else [said]), nodes.paragraph("", f"Takes {takes}.")]
    return item


@cache
def equation(name):
    return f"{in_words(name)} = {words(tree(LAWS[name]))}"


def prepare(idle):
    """Works out the equations for as long as there is nothing else to do."""
    for name in LAWS:
        if not idle():
            break
        equation(name)


def taken(law):
    """How an argument of the law is told: with its default as it is printed, else with its unit."""
    return lambda name: f"{name} = {quantity(name, law.defaults[name])}" if name in law.defaults else f"{name} ({unit(name)})"


def unit(name):
    return QUANTITIES[name].unit or "count"


def paragraphs(text):
    return [paragraph(each) for each in text.split("\n\n")]


def paragraph(text):
    """A docstring's paragraph: names in backticks and Python's own words as code, and what the code calls a law is a formula.

    A long path may break behind each of its slashes.
    """
    shown = nodes.paragraph()
    text = " ".join(word.replace("/", "/\u200b") if len(word) > 30 else word for word in text.split())
    for position, part in enumerate(re.split(r"(`[^`]+`|\b(?:None|True|False|ValueError)\b)", text)):
        code = part.strip("`")
        shown += nodes.literal(code, code) if position % 2 else nodes.Text(re.sub(r"\blaw(s?)\b", r"formula\1", part))
    return shown


def setup(app):
    app.add_directive("formulas", Formulas)
    app.add_directive("functions", Functions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
