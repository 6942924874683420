"""Jupyter Book without what it does in vain, and with once what it does again for each page: the pages stay as they are.

`python -m book.build.pages` takes this in before Sphinx starts; without it, Sphinx makes the same pages in more time.
"""

import re
import sys
from functools import cache
from types import SimpleNamespace

# What a straight quote, a dash or dots become is looked for in texts that have one.
TYPED = re.compile(r"[\"'`\\]|--|\.\.\.")
NESTED = 'class="toctree-l2'


def without_kernels():
    """Notebooks come executed: what would run them need not load, with the database in which it would keep them."""
    for name in ("cache", "direct", "inline"):
        client = f"NotebookClient{name.title()}"
        sys.modules[f"myst_nb.core.execute.{name}"] = SimpleNamespace(**{client: None})


def lean():
    """Changes the libraries in this process. What one of them has no more stops the build here."""
    import sphinx_book_theme
    import yaml
    from docutils import nodes
    from myst_nb import sphinx_ as notebooks
    from pydata_sphinx_theme import toctree
    from sphinx import builders, search, transforms
    from sphinx.builders import html
    from sphinx.builders.latex.transforms import FootnoteDocnameUpdater
    from sphinx.transforms import i18n

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    replace(yaml, "safe_load", lambda _: lambda stream: yaml.load(stream, loader))
    replace(toctree, "add_toctree_functions", with_one_sidebar)
    replace(transforms.SphinxSmartQuotes, "get_tokens", where_typed)
    replace(search.IndexBuilder, "_word_collector", with_each_word_once)
    replace(search.SearchLanguage, "word_filter", cache)
    replace(html.StandaloneHTMLBuilder, "render_partial", rendered_once)
    replace(nodes.Node, "findall", finding)
    replace(builders, "status_iterator", counted)
    # No page offers the notebook that MyST-NB writes, which is the one it read.
    replace(notebooks, "nbformat", lambda _: SimpleNamespace(writes=lambda notebook: ""))
    # It would join all words of a page for a description, which book/build/finish.py writes.
    replace(sphinx_book_theme, "add_metadata_to_page", lambda add: lambda *given: add(*given[:-1], None))
    # Each looks through a whole page for translations, or for what only LaTeX needs.
    for transform in (FootnoteDocnameUpdater, i18n.TranslationProgressTotaliser, i18n.RemoveTranslatableInline):
        replace(transform, "apply", lambda _: lambda self, **_: None)


def keep_templates(folder):
    """Has templates of the theme compiled once for all builds."""
    from jinja2 import FileSystemBytecodeCache
    from sphinx.jinja2glue import BuiltinTemplateLoader

    def keeping(start):
        def started(loader, *given, **named):
            start(loader, *given, **named)
            loader.environment.bytecode_cache = FileSystemBytecodeCache(str(folder))

        return started

    replace(BuiltinTemplateLoader, "init", keeping)


def replace(owner, name, made):
    setattr(owner, name, made(getattr(owner, name)))


def with_one_sidebar(add_functions):
    """The theme works out the list of all pages for each of them; where all stand in one folder only its marks differ."""
    made = {}

    def add(app, pagename, templatename, context, doctree):
        add_functions(app, pagename, templatename, context, doctree)
        whole = context["generate_toctree_html"]

        def once(kind, **options):
            key = kind, *sorted(options.items())
            if key not in made:
                made[key] = marked(str(whole(kind, **options)), "#", f"{pagename}.html", "")
            if "/" in pagename or NESTED in made[key]:
                return whole(kind, **options)
            return marked(made[key], f"{pagename}.html", "#", "current ")

        context["generate_toctree_html"] = once

    return add


def marked(sidebar, address, written, current):
    """The sidebar with a link, and the list that it is in, as they are where its page is the one that is open, or is not."""
    before, link, after = sidebar.partition(f'reference internal" href="{address}">')
    if not link:
        return sidebar
    start = before.rindex("<ul ")
    now = f'<li class="toctree-l1{" current active" if current else ""}"><a class="{current}'
    within = before[start:].replace('class="current ', 'class="').replace('class="', f'class="{current}', 1)
    return before[:start] + within[:within.rindex("<li ")] + now + f'reference internal" href="{written}">' + after


def where_typed(tokens):
    """No token of a paragraph in whose texts there is nothing to change: then they stay."""
    return lambda transform, texts: tokens(transform, texts) if any(map(TYPED.search, texts)) else ()


def with_each_word_once(collect):
    def collected(index, doctree):
        store = collect(index, doctree)
        store.words = list(dict.fromkeys(store.words))
        return store

    return collected


def rendered_once(render):
    """The title of a page stands on the next one too, and on the one before; the writer changes what it returned."""
    return cache(lambda builder, node: dict(render(builder, node)))


def counted(_):
    """Sphinx tells percents; book/build/pages.py reads how many of how many."""
    def each(pages, summary, color="", length=0, *_, **__):
        for number, page in enumerate(pages, 1):
            print(f"{summary.rstrip('. ')}: {number} of {length}")
            yield page

    return each


def finding(findall):
    """What looks through a whole page does so with a list of where it is, not with a generator in another for each level."""
    def find(node, condition=None, include_self=True, descend=True, siblings=False, ascend=False):
        if not include_self or not descend or siblings or ascend:
            return findall(node, condition, include_self, descend, siblings, ascend)
        if condition is None or isinstance(condition, type):
            return found(node, condition or object)
        kinds = getattr(condition, "classes", ())  # of Sphinx's NodeMatcher, which then looks closer
        return filter(condition, found(node, kinds or object))

    return find


def found(node, kinds):
    levels = [iter((node,))]
    while levels:
        for each in levels[-1]:
            if isinstance(each, kinds):
                yield each
            if each.children:
                levels.append(iter(each.children))
                break
        else:
            levels.pop()
