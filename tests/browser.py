"""A Chromium for the tests: the machine's own, or Playwright's, or the system package's."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections import defaultdict
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from book.build.extension import STATIC
from book.build.inputs import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ADVICE = ("No Chromium or Chrome found, and none could be installed: install the package `chromium` "
          "(Debian, Ubuntu: sudo apt-get install chromium) and run `make test` again.")

# Where the front page asks for a case, as it stands before a script has filled it.
FORM = re.search(r'(?s)<div id="case">.*?</div>', (ROOT / "book/index.md").read_text(encoding="utf-8"))[0]
# Bytes, uncompressed, of a page and all that it loads, of which the site's own styles, scripts and letters are 230,000.
WITHOUT_CHARTS, WITH_CHARTS, WITH_CASE, WITH_BANK = 540_000, 1_290_000, 1_050_000, 610_000
DRAWN = """() => document.querySelectorAll(".chart").length === (window.gpuCharts || []).length
  && (window.gpuCharts || []).every((chart) => chart.view)"""


def installed(playwright):
    """The path of a browser that starts; None if there is none."""
    mac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    known = [*filter(None, map(shutil.which, [*NAMES, mac])), playwright.chromium.executable_path]
    return next((path for path in known if succeeds([path, "--version"])), None)


def install():
    """Has Playwright fetch a browser, or else the system, where this may; each says so before."""
    print("No Chromium or Chrome found: trying Playwright's own (playwright install chromium) ...", flush=True)
    if succeeds([sys.executable, "-m", "playwright", "install", "chromium"]):
        return
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        print("That did not work: installing the system's package (apt-get install chromium) ...", flush=True)
        succeeds(["apt-get", "update"]) and succeeds(["apt-get", "install", "-y", "chromium"])


def succeeds(command):
    try:
        return subprocess.run(command, capture_output=True, timeout=600).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def launch(playwright):
    """The browser; what needs none runs without it, so a test that does fails by itself, with the advice."""
    path = installed(playwright)
    if not path:
        raise RuntimeError(ADVICE)
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])


# Tabs that a test has left, by browser and options: to open one takes a processor more time than most pages do.
LEFT = defaultdict(list)


def visit(browser, address, drawn=True, **options):
    """Opens a page, with all its charts drawn unless told otherwise; it collects what it asked for and what went wrong.

    browser: it, where the page gets a context with these options that has nothing of another page; or a context.
    """
    tabs = LEFT[browser, repr(options)]
    page = tabs.pop() if tabs else followed(browser.new_page(**options))
    page.tabs, page.requested, page.problems = tabs, [], []
    page.set_default_timeout(15_000)
    page.goto(address, wait_until="load")
    if drawn:
        page.evaluate("window.drawAllCharts?.().then(() => true)")
        page.wait_for_function(DRAWN)
    return page


def followed(page):
    page.on("request", lambda request: page.requested.append(request.url))
    page.on("requestfailed", lambda request: page.problems.append(f"failed: {request.url}"))
    page.on("console", lambda message: page.problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.size = page.viewport_size
    return page


def leave(page):
    """Hands a page that was visited to the next test, with nothing kept."""
    page.evaluate("try { localStorage.clear(); sessionStorage.clear(); } catch {}")
    page.emulate_media(media="null", color_scheme="null", reduced_motion="null")
    page.set_viewport_size(page.size)
    page.goto("about:blank")
    page.tabs.append(page)


def lay_out(folder, names, made):
    """Writes the scripts and styles of a page into its folder: those that are `made`, and the book's own as they are."""
    for name in names:
        text = made[name] if name in made else (STATIC / name).read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def serving(folder):
    """The address at which a folder is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def ended(pages):
    """Closes these pages, in which nothing may have failed, nor any text have run."""
    for page in pages:
        assert page.problems == [], page.problems
        assert page.evaluate("window.ran") is None
        leave(page)


def page_bytes(page):
    """Bytes, uncompressed, of a page opened from file:// and of everything it loaded."""
    paths = {unquote(urlsplit(url).path) for url in page.requested if url.startswith("file:")}
    return sum(Path(path).stat().st_size for path in paths)


def page_budget(page):
    if page.locator("#case").count():
        return WITH_CASE
    return WITH_CHARTS if page.locator(".chart").count() else WITH_BANK if page.locator(".bank").count() else WITHOUT_CHARTS


def main():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        if not installed(playwright):
            install()
        if not installed(playwright):
            sys.exit(f"{ADVICE} The tests that need none run now; the others fail.")


if __name__ == "__main__":
    main()
