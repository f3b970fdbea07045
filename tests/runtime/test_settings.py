from __future__ import annotations

import pytest
from pydantic import ValidationError

from lucius.runtime.settings import Settings


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8700"),
        ("localhost", "http://localhost:8700"),
        ("::1", "http://[::1]:8700"),
        ("192.0.2.7", "http://192.0.2.7:8700"),
        ("0.0.0.0", "http://127.0.0.1:8700"),  # noqa: S104 - the address nobody can call
        ("", "http://127.0.0.1:8700"),
        ("::", "http://[::1]:8700"),
        ("0:0::0", "http://[::1]:8700"),
    ],
)
def test_services_are_told_an_address_they_can_call(host: str, url: str) -> None:
    """Where it listens on all addresses, services are told this machine's own, of the same family."""
    assert Settings(host=host, port=8700, public_url=None).base_url == url


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::"])  # noqa: S104
def test_a_public_url_is_told_as_it_is(host: str) -> None:
    """What the operator says stands, wherever it listens."""
    assert Settings(host=host, public_url="https://lucius.example/").base_url == "https://lucius.example"


@pytest.mark.parametrize("root", ["work", "/srv/work", "s3://bucket/my work"])
def test_a_workspace_is_a_uri(root: str) -> None:
    """A root that would make every result's reference invalid is refused at the start."""
    with pytest.raises(ValidationError, match="workspace_root"):
        Settings(workspace_root=root)
