"""As much of Google Cloud Storage as a publication needs, in memory, on a port of this machine."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

BUCKET = "runs"
_OBJECTS = f"/storage/v1/b/{BUCKET}/o"


class _Handler(BaseHTTPRequestHandler):
    objects: dict[str, bytes]
    protocol_version = "HTTP/1.1"
    wbufsize = 2**16  # a reply in one piece, which nobody's acknowledgement holds up

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        name = unquote(url.path).removeprefix(f"{_OBJECTS}/")
        if url.path == _OBJECTS:
            self._say(200, {"kind": "storage#objects", "items": []})
        elif not url.path.startswith(_OBJECTS) or name not in self.objects:
            self._say(404, {"error": {"code": 404, "message": "Not Found"}})
        elif "alt=media" in url.query:
            self._send(200, self.objects[name])
        else:
            self._say(200, self._described(name))

    def do_POST(self) -> None:
        """Begin an upload."""
        self._body()
        url = urlsplit(self.path)
        if url.path != f"/upload{_OBJECTS}":
            self._say(404, {"error": {"code": 404, "message": "Not Found"}})
            return
        host = self.headers["Host"]
        self._send(200, b"", {"Location": f"http://{host}{self.path}&upload_id=1"})

    def do_PUT(self) -> None:
        """End an upload, which all our files are small enough for."""
        (name,) = parse_qs(urlsplit(self.path).query)["name"]
        content = self._body()
        assert re.fullmatch(rf"bytes (0-\d+|\*)/{len(content)}", self.headers["Content-Range"])
        self.objects[name] = content
        self._say(200, self._described(name))

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _described(self, name: str) -> dict[str, Any]:
        return {
            "kind": "storage#object",
            "bucket": BUCKET,
            "name": name,
            "generation": "1",
            "size": str(len(self.objects[name])),
        }

    def _say(self, code: int, document: dict[str, Any]) -> None:
        self._send(code, json.dumps(document).encode(), {"Content-Type": "application/json"})

    def _send(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def google_store() -> Iterator[tuple[int, dict[str, bytes]]]:
    """Run a store with one bucket, `runs`; yields its port and its objects by name."""
    objects: dict[str, bytes] = {}
    handler = type("Handler", (_Handler,), {"objects": objects})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1], objects
        finally:
            server.shutdown()
            thread.join()
