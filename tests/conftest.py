"""One site and one browser for all browser tests of a run."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import settings
from playwright.sync_api import sync_playwright

from book.build import ROOT, build_book
from book.editions import Editions
from book.inputs import Frozen, alone
from tests.browser import launch

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def site():
    """The site from notebooks that ran for it: recordings stand for nothing here. The first worker that asks makes it."""
    return build_book(output=ROOT / "_build/test-site", recorded=False)


@pytest.fixture(scope="session")
def executed():
    """The file of each notebook as it ran for the tests' site."""
    with alone(ROOT / "_build"):
        return Editions(Frozen(ROOT, ROOT / "_build/frozen"), recorded=False).current()


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def served(site):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
