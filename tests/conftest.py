"""One site and one browser for all browser tests of a run, and how its work is shared among workers."""

import gc
import io
import os
import random
import re
import sys
from contextlib import redirect_stdout
from functools import cache
from pathlib import PurePath
from zlib import crc32

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from playwright.sync_api import sync_playwright
from xdist.scheduler import LoadScopeScheduling

from book.build.editions import Editions
from book.build.inputs import alone, Frozen
from book.build.site import build_book, ROOT
from book.web import front
from gpucalc.rows import price_book
from tests import few
from tests.browser import launch, serving, visit

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
# Hypothesis tries constants of the modules that are loaded, which differ from one worker to another: the same seed draws the same without.
providers._get_local_constants = lambda: providers._local_constants


# The tests of these files share nothing, so that any worker may take any of them.
SHARES_NOTHING = ("test_build", "test_memory_properties", "test_random_books")
# Files that one worker takes together: what the first works out the second has too.
TOGETHER = {"test_formula": "test_printer"}
# What takes long begins first, and what needs the site after the worker that makes it.
FIRST = ("site-0", *SHARES_NOTHING, "test_layouts", "test_answer_in_browser", "test_readme", "site-1", "test_own_prices")


def share(nodeid):
    """What one worker does as a whole: a file, the cells of a notebook, half of the site's pages, or a single test."""
    name = PurePath(nodeid.partition("::")[0]).stem
    if name in ("test_site", "test_site_charts"):
        page = re.search(r"\[([\w-]+)\]$", nodeid)
        return f"site-{crc32(page[1].encode()) % 2 if page else 0}"
    return TOGETHER.get(name, name)


class Shares(LoadScopeScheduling):
    """pytest-xdist's own way to keep tests together, by `share`; its groups need a pytest older than ours."""

    def _split_scope(self, nodeid):
        return nodeid if share(nodeid) in SHARES_NOTHING else share(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than processors: tests of builds and of the browser wait for other processes a quarter of their time."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Shares(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in few.late(items):
        item.add_marker(pytest.mark.long)
    order = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: order.get(share(item.nodeid), len(FIRST)))


# Of the random cases of `make test`, which are the same each time.
SEED = 14


def pytest_addoption(parser):
    parser.addoption("--seed", default="", metavar="N", help=f"draw the random cases from this seed ({SEED}), or from a `new` one")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    given = config.option.seed or str(SEED)
    if given != "new" and not (given.isascii() and given.isdecimal()):
        raise pytest.UsageError(f"--seed={given}: allowed: a whole number, or new")
    config.option.seed = random.randrange(10**6) if given == "new" else int(given)
    config.option.hypothesis_seed = str(config.option.seed)
    gc.set_threshold(50_000, 20, 50)


def pytest_collection_finish():
    """What was collected stays to the end: to look through it again and again for garbage takes a tenth of the time."""
    gc.collect()
    gc.freeze()


def pytest_report_header(config):
    return f"random cases: seed {config.option.seed}"


LONG = pytest.StashKey()


def pytest_deselected(items):
    """Long tests that are left out are counted here: where workers run the tests, pytest itself says nothing of them."""
    config = items[0].config
    config.stash[LONG] = config.stash.get(LONG, 0) + sum(bool(item.get_closest_marker("long")) for item in items)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["long"] = session.config.stash.get(LONG, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[LONG] = max(node.config.stash.get(LONG, 0), getattr(node, "workeroutput", {}).get("long", 0))


def pytest_terminal_summary(terminalreporter, config):
    if terminalreporter.stats.get("failed") and config.option.seed != SEED:
        terminalreporter.write_line(f"The random cases were of seed {config.option.seed}: `make test-all SEED={config.option.seed}` draws them again.")
    if config.stash.get(LONG, 0):
        terminalreporter.write_line(f"{config.stash[LONG]} long tests were left out; `make test-all` runs them too.")


@pytest.fixture(scope="session")
def calls():
    """Counts the calls that a piece of work makes, of Python's functions and of C's: its length on any machine, however busy."""
    def counted(work):
        found = 0

        def note(frame, event, argument):
            nonlocal found
            found += event in ("call", "c_call")
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(before)
        return found
    return counted


class Progress(io.TextIOBase):
    """Passes on what a build prints, also where pytest keeps what is printed to itself; of the notebooks that are done every tenth."""

    def __init__(self, config):
        with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            self.shown = os.fdopen(os.dup(sys.stderr.fileno()), "w")

    def write(self, text):
        left = re.search(r"(\d+) left", text)
        if text.strip() and (not left or int(left[1]) % 10 == 0):
            print(f"\n{text.strip()}", end="", file=self.shown, flush=True)
        return len(text)

    def close(self):
        self.shown.close()


@pytest.fixture(scope="session")
def executed(pytestconfig):
    """The file of each notebook from a run of it as it is now, of this time or an earlier one: recordings stand for nothing here."""
    with alone(ROOT / "_build"), Progress(pytestconfig) as shown, redirect_stdout(shown):
        return Editions(Frozen(ROOT, ROOT / "_build/frozen"), recorded=False).current()


@pytest.fixture(scope="session")
def site(pytestconfig, executed):
    """The book that `make book` makes, from these notebooks. The first worker that asks makes it."""
    with Progress(pytestconfig) as shown, redirect_stdout(shown):
        return build_book(recorded=False)


@pytest.fixture(scope="session")
def scripts():
    """The scripts of the front page and of lessons by name, by the prices of the project."""
    return front.scripts(price_book.prices())


@pytest.fixture(scope="session")
def cases(pytestconfig):
    """The random cases of this run, and what Python makes of them."""
    from tests.cases import worked

    return worked(pytestconfig.option.seed, price_book.prices())


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def on_disk(browser, site):
    """Gives a page of the site from file://, opened once for all tests of a worker, all in one context: each begins sooner."""
    context = browser.new_context()
    opened = cache(lambda name: visit(context, f"{site.as_uri()}/{name}.html"))

    def in_front(name):
        page = opened(name)
        page.bring_to_front()  # a page behind another is not drawn
        return page

    return in_front


@pytest.fixture(scope="session")
def book():
    """The newest price book."""
    return price_book.prices()


@pytest.fixture(scope="session")
def served(site):
    with serving(site) as address:
        yield address
