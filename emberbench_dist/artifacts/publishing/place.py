"""Where a run is published: a URL, checked without a look at any store.

No error repeats the URL before it is known to hold no credentials.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from emberbench_dist.errors import PublishError

_OPTIONS = {
    "s3": {"region", "scheme", "endpoint_override"},
    "gs": {"project_id", "scheme", "endpoint_override"},
    "file": set[str](),
}
_SUPPORTED = "s3://BUCKET/PATH, gs://BUCKET/PATH or file:///PATH"


@dataclass(frozen=True, slots=True)
class Place:
    """A place: `path` is bucket and prefix, or, of a `file` URL, an absolute folder."""

    url: str
    scheme: str
    path: str
    options: dict[str, str]
    anonymous: bool = False

    @property
    def bucket(self) -> str:
        """Return the bucket that the path begins with."""
        return self.path.partition("/")[0]


def parse_place(url: str) -> Place:
    """Return the place that a URL names; `PublishError` says which rule it breaks."""
    try:
        parts = urlsplit(url)
        query = parts.query and parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)
    except ValueError:  # whose text may repeat the URL
        raise PublishError(f"the place to publish to is no URL like {_SUPPORTED}") from None
    if parts.scheme not in _OPTIONS:
        told = f"{parts.scheme}:// is not supported" if parts.scheme else "that is no URL"
        raise PublishError(f"a place to publish to is {_SUPPORTED}; {told}")
    user, at, authority = parts.netloc.rpartition("@")
    anonymous = parts.scheme == "gs" and user == "anonymous"
    if at and not anonymous:
        raise PublishError(
            "the URL to publish to holds credentials; leave them out, and give them as the store's "
            "own tools take them: in the environment, a profile, or the machine's role"
        )
    options = dict(query or ())
    _require_known(parts, options)
    path = _folder(parts) if parts.scheme == "file" else _prefix(authority, parts.path)
    return Place(url, parts.scheme, path, options, anonymous)


def _require_known(parts: SplitResult, options: dict[str, str]) -> None:
    known = _OPTIONS[parts.scheme]
    for name in options:
        if name not in known:
            told = ", ".join(sorted(known)) or "none"
            raise PublishError(
                f"a place {parts.scheme}:// has no option {name!r}; known are: {told}"
            )
    if parts.fragment:
        raise PublishError("a place to publish to has no #fragment; write %23 for #")


def _folder(parts: SplitResult) -> str:
    path = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or not path.startswith("/") or "\0" in path:
        raise PublishError("file:// needs an absolute folder, as in file:///data/runs/1")
    return path


def _prefix(bucket: str, path: str) -> str:
    names = [name for name in unquote(path).split("/") if name]
    if not bucket or {".", ".."} & set(names) or not "".join(names).isprintable():
        raise PublishError("a place to publish to is a bucket and a path in it, as in s3://runs/1")
    return "/".join((bucket, *names))
