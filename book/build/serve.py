"""Shows the site at http://localhost, to this machine only: `python -m book.build.serve PORT`, after `make book`."""

import errno
import re
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from .inputs import ROOT, BuildError


def server(port, folder=ROOT / "_build/html"):
    """A server of the folder at the port, which is given as text. Raises BuildError for a port that can't be had."""
    if not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 2**16:
        raise BuildError(f"PORT={port[:60]}: allowed: a number from 1 to {2**16 - 1}")
    try:
        return ThreadingHTTPServer(("127.0.0.1", int(port)), partial(SimpleHTTPRequestHandler, directory=folder))
    except OSError as error:
        said = "another program listens there" if error.errno == errno.EADDRINUSE else error.strerror
        raise BuildError(f"PORT={port}: {said}; try another: make serve PORT={int(port) % (2**16 - 1) + 1}") from None


if __name__ == "__main__":
    try:
        with server(*sys.argv[1:]) as served:
            print(f"http://localhost:{served.server_port} (Ctrl-C stops it)", flush=True)
            served.serve_forever()
    except BuildError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass
