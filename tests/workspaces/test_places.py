from __future__ import annotations

import pytest

from lucius.sdk.serving.outcomes import Final
from lucius.sdk.workspaces import Stores
from lucius.sdk.workspaces.places import check_name, place_of

REFUSED = (
    None, 7, "", "report.pdf", "/srv/report.pdf", "ftp://host/x", "http://host/x", "memory:///x",
    "data:text/plain,x", "s3:///key", "https:///x", "file://server/share/x", "s3://bucket/a/../b", "s3://bucket/a//b",
    "s3://bucket/%2e%2e/x", "s3://bucket/a%2fb", "s3://bucket/a\\b", "s3://bucket/a%00", "s3://bucket/%ff", "s3://bucket/100%",
    "s3://b/k#part", "s3://bucket/k?versionId=7", "https://user:secret@host/x", "s3://key:secret@bucket/x",
    "s3://bucket/" + "x" * 3000,
)  # fmt: skip


@pytest.mark.parametrize("uri", REFUSED)
def test_what_has_no_one_reading_is_refused(uri: object) -> None:
    """A URI that is none, or could mean several places, is a final failure that repeats no secret."""
    with pytest.raises(Final) as caught:
        Stores().source({"uri": uri})
    assert caught.value.code == "UNSUPPORTED_URI"
    assert "secret" not in str(caught.value)


def test_keys_are_decoded_and_uris_stay() -> None:
    """The URI is kept as it was sent; the key is what it means."""
    place = place_of("s3://bucket/two%20words/%C3%BC.pdf")
    assert (place.authority, place.key, place.name) == ("bucket", "two words/ü.pdf", "ü.pdf")
    assert place.uri == "s3://bucket/two%20words/%C3%BC.pdf"


def test_messages_show_no_query() -> None:
    """What a message shows of a web address ends before its query."""
    assert place_of("https://host/a.pdf?sig=abc").shown == "https://host/a.pdf"


def test_a_workspace_may_end_with_a_slash_or_not() -> None:
    """Lucius writes a workspace with a slash at its end; either way is the same folder."""
    for uri in ("s3://bucket/job", "s3://bucket/job/"):
        assert Stores().workspace(uri, step_type="OCR", attempt_no=2).uri == "s3://bucket/job/OCR/2/"


def test_the_web_is_no_workspace() -> None:
    """Nothing is written to https."""
    with pytest.raises(Final) as caught:
        Stores().workspace("https://host/x", step_type="OCR", attempt_no=1)
    assert caught.value.code == "UNSUPPORTED_URI"


def test_a_step_type_is_a_name_too() -> None:
    """A step type cannot lead out of the workspace either."""
    with pytest.raises(Final):
        Stores().workspace("s3://bucket/job", step_type="../x", attempt_no=1)


def test_a_refused_name_is_told_with_its_reason() -> None:
    """Whoever chose the name learns what is wrong with it."""
    with pytest.raises(Final, match=r"'a/\.\./b' is no name for a file: it holds a dot segment"):
        check_name("a/../b")


@pytest.mark.parametrize(
    ("ref", "wanted"),
    [
        ({"uri": "s3://b/a.pdf"}, "application/pdf"),
        ({"uri": "s3://b/a.PDF"}, "application/pdf"),
        ({"uri": "s3://b/a.pdf", "content_type": "image/png"}, "image/png"),
        ({"uri": "s3://b/7f3a", "name": "scan.tiff"}, "image/tiff"),
        ({"uri": "s3://b/notes.md"}, "text/markdown"),
        ({"uri": "s3://b/a.csv.gz"}, "application/gzip"),
        ({"uri": "s3://b/unknown"}, None),
    ],
)
def test_a_content_type_is_told_or_guessed(ref: dict[str, str], wanted: str | None) -> None:
    """The reference's word counts, then its name, then the URI's."""
    assert Stores().source(ref).content_type == wanted


@pytest.mark.parametrize(
    "said", [{"size": -1}, {"size": "7"}, {"size": True}, {"sha256": "abc"}, {"sha256": 7}]
)
def test_a_reference_that_says_nonsense_is_refused(said: dict[str, object]) -> None:
    """A size or hash that cannot be checked is not passed over in silence."""
    with pytest.raises(Final) as caught:
        Stores().source({"uri": "s3://bucket/key", **said})
    assert caught.value.code == "INVALID_REF"
