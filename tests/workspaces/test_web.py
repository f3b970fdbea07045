from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from lucius.sdk.serving.outcomes import Final, Retryable, StepFailure
from lucius.sdk.workspaces import Source, Stores
from lucius.testing.processes import free_port
from tests.workspaces.web_server import DOCUMENT, serving


class Web:
    """A web server, and stores that trust it."""

    def __init__(self, address: str, stores: Stores) -> None:
        self.address = address
        self.stores = stores

    def source(self, path: str, **said: object) -> Source:
        """Something on the server."""
        return self.stores.source({"uri": f"{self.address}/{path}", **said})


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A running server."""
    with serving(tmp_path_factory.mktemp("web")) as (address, tls):
        yield Web(address, Stores(tls=tls))


async def test_a_web_document_is_read(web: Web) -> None:
    """An https reference reads like any other, checked like any other."""
    source = web.source("report.pdf", sha256=hashlib.sha256(DOCUMENT).hexdigest(), size=len(DOCUMENT))
    assert await source.read() == DOCUMENT
    with pytest.raises(Final, match="INPUT_CORRUPT"):
        await web.source("report.pdf", size=3).read()


async def test_the_address_is_asked_for_as_it_was_given(web: Web) -> None:
    """Escapes and the query reach the server untouched."""
    assert await web.source("echo?page=1&of=a%20b").text() == "/echo?page=1&of=a%20b"


@pytest.mark.parametrize(
    ("path", "code", "retryable"),
    [
        ("404", "INPUT_NOT_FOUND", False),
        ("410", "INPUT_NOT_FOUND", False),
        ("401", "INPUT_FORBIDDEN", False),
        ("403", "INPUT_FORBIDDEN", False),
        ("302", "INPUT_NOT_READABLE", False),
        ("429", "STORE_UNAVAILABLE", True),
        ("500", "STORE_UNAVAILABLE", True),
        ("503", "STORE_UNAVAILABLE", True),
        ("cut", "STORE_UNAVAILABLE", True),
    ],
)
async def test_other_answers_are_told(web: Web, path: str, code: str, retryable: bool) -> None:
    """Each answer is final or retryable, redirects are not followed, and the query stays unsaid."""
    with pytest.raises(StepFailure) as caught:
        await web.source(f"{path}?code=hush").read()
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert "hush" not in str(caught.value)


async def test_strangers_are_not_trusted(web: Web) -> None:
    """A certificate that nobody vouches for, or nobody listening, is a failure that may pass."""
    for address in (web.address, f"https://127.0.0.1:{free_port()}"):
        with pytest.raises(Retryable) as caught:
            await Stores().source({"uri": f"{address}/a.pdf"}).read()
        assert caught.value.code == "STORE_UNAVAILABLE"
