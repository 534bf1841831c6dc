"""The lab, a page in which the simulator runs in the browser: a server for this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import as_file
from typing import Any

from tailback.errors import UsageError
from tailback.web import folder

__all__ = ["LOOPBACK", "served"]

LOOPBACK = "127.0.0.1"
"""The server answers only programs on this machine."""


class _Handler(SimpleHTTPRequestHandler):
    """Answers with files; does not log, and does not let browsers keep files of another version."""

    def log_message(self, *args: Any) -> None:
        """Write nothing."""

    def end_headers(self) -> None:
        """Add the header about caches."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


_Handler.extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm"}


@contextmanager
def served(port: int) -> Iterator[ThreadingHTTPServer]:
    """Serve the lab to programs on this machine; `port` 0 chooses a free one.

    Raises:
        UsageError: The lab was not built, or the port is in use.

    """
    lab = folder() / "lab"
    if not (lab / "index.html").is_file():
        raise UsageError("this installation has no lab: run `make lab` in the source folder")
    with as_file(lab) as place:
        try:
            server = ThreadingHTTPServer((LOOPBACK, port), partial(_Handler, directory=str(place)))
        except OSError as error:
            raise UsageError(f"port {port} cannot be used: {error.strerror}") from error
        with server:
            yield server
