"""The stores: a bucket by pyarrow, a folder by the system. What is put appears whole or not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from emberbench_dist.artifacts.durable import put_in_place
from emberbench_dist.artifacts.publishing.place import Place
from emberbench_dist.errors import PublishError

CHUNK = 2**23
_CONNECT_SECONDS, _REQUEST_SECONDS, _ATTEMPTS = 5.0, 10.0, 3
_MAX_TOLD = 300


class Store(Protocol):
    """Files by name in one place; each method raises `PublishError` where the store refuses."""

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None where there is none."""

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file."""

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file, which appears under its name only when it is whole."""

    def remove(self, name: str) -> None:
        """Remove a file."""


def open_store(place: Place) -> Store:
    """Return the store at a place."""
    if place.scheme == "file":
        return Folder(place)
    with _explaining(place):
        return Bucket(place, _s3(place) if place.scheme == "s3" else _gs(place))


class Folder:
    """A folder, on whatever is mounted there."""

    def __init__(self, place: Place) -> None:
        """Make the folder where it is missing."""
        self._place = place
        self._root = Path(place.path)
        with _explaining(place):
            self._root.mkdir(parents=True, exist_ok=True)

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None where there is none."""
        with _explaining(self._place, name):
            try:
                return (self._root / name).stat().st_size
            except FileNotFoundError:
                return None

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file."""
        with _explaining(self._place, name), (self._root / name).open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write beside, sync, rename."""
        beside = self._root / f".{name}.partial"
        try:
            with _explaining(self._place, name):
                with beside.open("wb") as file:
                    for chunk in chunks:
                        file.write(chunk)
                        file.flush()
                        os.fsync(file.fileno())  # each: a long silence at the end is no progress
                put_in_place(beside, self._root / name)
        finally:
            with suppress(OSError):
                beside.unlink()

    def remove(self, name: str) -> None:
        """Remove a file."""
        with _explaining(self._place, name):
            (self._root / name).unlink()


class Bucket:
    """A bucket's prefix; an object appears when its upload is closed."""

    def __init__(self, place: Place, files: Any) -> None:
        """Use a file system of pyarrow's."""
        self._place = place
        self._files = files
        self._unfinished: list[Any] = []

    def size(self, name: str) -> int | None:
        """Return the size of an object in bytes; None where there is none."""
        with _explaining(self._place):
            info = self._files.get_file_info(self._path(name))
            return info.size if info.is_file else None

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of an object."""
        with (
            _explaining(self._place),
            self._files.open_input_stream(self._path(name)) as file,
        ):
            while chunk := file.read(CHUNK):
                yield chunk

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        """Upload an object."""
        with _explaining(self._place):
            file = self._files.open_output_stream(self._path(name))
            # Kept: to close or to forget an upload that failed would complete half an object.
            self._unfinished.append(file)
            for chunk in chunks:
                file.write(chunk)
            file.close()
            self._unfinished.clear()

    def remove(self, name: str) -> None:
        """Remove an object."""
        with _explaining(self._place):
            self._files.delete_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._place.path}/{name}"


def _s3(place: Place) -> Any:
    from pyarrow import fs  # noqa: PLC0415 - slow to import, and a folder needs none

    options = {**_endpoint(), **place.options}
    if not options and not {"AWS_REGION", "AWS_DEFAULT_REGION"} & os.environ.keys():
        options["region"] = fs.resolve_s3_region(place.bucket)
    return fs.S3FileSystem(
        **options,
        background_writes=False,  # they would take in a whole file, and be silent until its end
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_REQUEST_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )


def _endpoint() -> dict[str, str]:
    """Return the endpoint that the environment names, as the store's own tools take it."""
    url = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not url:
        return {}
    parts = urlsplit(url)
    return {"scheme": parts.scheme, "endpoint_override": parts.netloc}


def _gs(place: Place) -> Any:
    from pyarrow import fs  # noqa: PLC0415

    return fs.GcsFileSystem(
        anonymous=place.anonymous,
        retry_time_limit=timedelta(seconds=_REQUEST_SECONDS),
        **place.options,
    )


@contextmanager
def _explaining(place: Place, name: str = "") -> Iterator[None]:
    """Turn what the system or pyarrow raises into one line."""
    try:
        yield
    # ValueError: what pyarrow calls invalid; ImportError: a pyarrow built without that store.
    except (OSError, ValueError, ImportError) as error:
        told = _told(place, error)
        raise PublishError(f"{name}: {told}" if name else told) from error


# What a store says, and what it means; the first that is found in the message counts.
_MEANINGS = (
    ("NO_SUCH_BUCKET|NOT_FOUND", "there is no bucket {bucket}; make it first"),
    (
        "ACCESS_DENIED|PERMISSION_DENIED",
        "access is denied: listing, reading and writing must be allowed",
    ),
    (
        "INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|SIGNATURE|EXPIRED_TOKEN|UNRECOGNIZED|UNAUTHENT",
        "the credentials are not accepted",
    ),
    ("NETWORK_CONNECTION|UNAVAILABLE", "the store cannot be reached: {detail}"),
    ("UNKNOWN|INTERNAL_FAILURE|SLOW_DOWN", "the store is in trouble: {detail}"),
)


def _told(place: Place, error: Exception) -> str:
    said = " ".join(str(error).split())
    detail = re.sub(r".*(?:Details|operation): ", "", said)[:_MAX_TOLD]
    for pattern, meaning in _MEANINGS:
        if re.search(pattern, said):
            return meaning.format(bucket=place.bucket, detail=detail)
    return (error.strerror if isinstance(error, OSError) else None) or detail
