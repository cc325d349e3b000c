"""Places to publish to: which URLs name one, and what is said of the others."""

from __future__ import annotations

import pytest

from emberbench_dist.artifacts.publishing.place import parse_place
from emberbench_dist.errors import PublishError


@pytest.mark.parametrize(
    ("url", "scheme", "path", "options"),
    [
        ("s3://runs", "s3", "runs", {}),
        ("s3://runs/a/b/", "s3", "runs/a/b", {}),
        ("s3://runs/a%20b?region=eu-west-1", "s3", "runs/a b", {"region": "eu-west-1"}),
        (
            "s3://runs/1?endpoint_override=localhost:9000&scheme=http",
            "s3",
            "runs/1",
            {
                "endpoint_override": "localhost:9000",
                "scheme": "http",
            },
        ),
        ("gs://runs/1?project_id=p", "gs", "runs/1", {"project_id": "p"}),
        ("file:///data/runs/1", "file", "/data/runs/1", {}),
        ("file://localhost/data/a%23b", "file", "/data/a#b", {}),
    ],
)
def test_a_url_names_a_place(url, scheme, path, options):
    """Scheme, path and the store's options are read from the URL."""
    place = parse_place(url)
    assert (place.url, place.scheme, place.path, place.options) == (url, scheme, path, options)


def test_a_public_bucket_of_google_needs_no_credentials():
    """The user `anonymous` is no credential."""
    place = parse_place("gs://anonymous@runs/1")
    assert (place.path, place.anonymous) == ("runs/1", True)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://host/x", "http:// is not supported"),
        ("az://host/x", "s3://BUCKET/PATH, gs://BUCKET/PATH or file:///PATH"),
        ("/data/runs", "that is no URL"),
        ("", "that is no URL"),
        ("s3://", "a bucket and a path"),
        ("s3:///x", "a bucket and a path"),
        ("s3://runs/../x", "a bucket and a path"),
        ("s3://runs/%0a", "a bucket and a path"),
        ("s3://runs/x#1", "no #fragment"),
        ("s3://runs/x?regoin=x", "has no option 'regoin'; known are: endpoint_override, region"),
        ("s3://runs/x?region", "is no URL like"),
        ("s3://[runs/x", "is no URL like"),
        ("file://data/runs", "an absolute folder"),
        ("file:data", "an absolute folder"),
        ("file:///data?region=x", "has no option 'region'; known are: none"),
    ],
)
def test_another_url_is_refused(url, told):
    """What is wrong is said in one line."""
    with pytest.raises(PublishError) as refused:
        parse_place(url)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIAEXAMPLE:hunter2@runs/x",
        "s3://AKIAEXAMPLE:hunter2@",
        "gs://token-hunter2@runs/x",
        "https://user:hunter2@host/x",
        "s3://runs/x?access_key=AKIA&secret_key=hunter2",
        "AKIA:hunter2",
    ],
)
def test_credentials_are_refused_and_not_repeated(url):
    """A URL with credentials is refused before anything else, and no error repeats them."""
    with pytest.raises(PublishError) as refused:
        parse_place(url)
    assert "hunter2" not in str(refused.value)
