"""The pages of a ledger's file, read and put in place past the database that is damaged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from emberbench_dist.artifacts.database import new_content, root_page

_HEADER_BYTES = 100
_LEAF = 13  # first byte of a page with rows of a table


def renew_first_page(path: Path) -> None:
    """Give a damaged ledger the first page of a new one: header and schema, always the same."""
    new = new_content()
    size = _page_size(new)
    pages = max(-(-path.stat().st_size // size), len(new) // size)
    with path.open("r+b") as file:
        file.write(new[:28] + pages.to_bytes(4, "big") + new[32:size])
        file.write(new[file.seek(0, os.SEEK_END) :])  # where it was cut shorter than a new one
        file.truncate(pages * size)


def each_leaf(path: Path, table: str) -> Iterator[None]:
    """Put every page of rows in the file where a table begins, to be read alone, one by one."""
    root = root_page(path, table)
    with path.open("r+b", buffering=0) as file:
        size = _page_size(os.pread(file.fileno(), _HEADER_BYTES, 0))
        begin = (root - 1) * size
        first = os.pread(file.fileno(), size, begin)
        for place in range(0, path.stat().st_size, size):
            page = first if place == begin else os.pread(file.fileno(), size, place)
            if page[0] == _LEAF:
                os.pwrite(file.fileno(), page, begin)
                yield


def _page_size(content: bytes) -> int:
    return int.from_bytes(content[16:18], "big")
