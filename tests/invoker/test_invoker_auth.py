from __future__ import annotations

import inspect

import httpx2
import pytest

from lucius.entrypoints.invoker import BearerTokens
from lucius.entrypoints.invoker.routes import ROUTES, Route, find
from lucius.errors import Invalid
from lucius.ports.invoker import Invoker
from tests.invoker.world import BODIES, JOB_ID, NO_TLS, TOKEN, World, serving

PROBES = {"/healthz", "/readyz"}
OTHER = "the-token-before-this-one"
BAD = {
    "none": [],
    "empty": [("Authorization", "")],
    "scheme alone": [("Authorization", "Bearer")],
    "wrong": [("Authorization", "Bearer wrong-wrong-wrong-wrong")],
    "beginning": [("Authorization", f"Bearer {TOKEN[:-1]}")],
    "longer": [("Authorization", f"Bearer {TOKEN}x")],
    "blank before": [("Authorization", f"Bearer  {TOKEN}")],
    "other scheme": [("Authorization", f"Basic {TOKEN}")],
    "no scheme": [("Authorization", TOKEN)],
    "twice": [("Authorization", f"Bearer {TOKEN}"), ("Authorization", f"Bearer {TOKEN}")],
    "other header": [("X-API-Key", TOKEN)],
}


def _path(route: Route) -> str:
    return route.path.replace("{jobId}", JOB_ID)


def test_every_route_is_known_to_these_tests() -> None:
    """A route that is added without a body to test it with, or is opened to strangers, fails here."""
    assert {route.path for route in ROUTES if route.method == "POST"} == set(BODIES)
    assert {route.path for route in ROUTES if route.open} == PROBES
    assert {route.path for route in ROUTES if route.method == "GET"} == PROBES | {"/metrics"}


def test_every_call_of_the_port_has_a_route() -> None:
    """What an invoker can be asked in one process can be asked over HTTP."""
    verbs = [name for name, _ in inspect.getmembers(Invoker, inspect.isfunction) if name[0] != "_"]
    assert len(verbs) == len(BODIES)


async def test_nothing_but_the_token_opens_a_route(world: World) -> None:
    """Without the token every route but the probes gives the same 401, and so do routes that are none."""
    strange = [("POST", "/v1/internal/secret"), ("DELETE", "/"), ("GET", "/v1/internal/publish")]
    asked = [(route.method, _path(route)) for route in ROUTES if not route.open] + strange
    assert len(asked) == len(ROUTES) - len(PROBES) + len(strange)
    bodies = set()
    async with httpx2.AsyncClient(base_url=world.url, trust_env=False, verify=NO_TLS) as http:
        for name, bad in BAD.items():
            for method, path in asked:
                answer = await http.request(method, path, headers=bad, content=b"{", timeout=10)
                assert answer.status_code == 401, (name, method, path)
                assert answer.headers["www-authenticate"].startswith("Bearer")
                bodies.add(answer.content)
    assert len(bodies) == 1
    assert world.recorder.calls == []


async def test_the_token_opens_every_route(world: World) -> None:
    """With the token each route does its work, whatever the case of the scheme."""
    for route in ROUTES:
        body = {"json": BODIES[route.path]} if route.method == "POST" else {}
        headers = {"Authorization": f"bearer {TOKEN}"}
        answer = await world.ask(route.method, _path(route), token=None, headers=headers, **body)
        assert answer.status_code == 200, route.path
    assert len(world.recorder.calls) == len(BODIES)


async def test_two_tokens_are_taken_while_one_is_replaced() -> None:
    """During a rotation the new and the old token open the door, and no third one does."""
    world = World(TOKEN, OTHER)
    async with serving(world) as world.url:
        given = [await world.ask("GET", "/metrics", token=token) for token in (TOKEN, OTHER, TOKEN + OTHER)]
    assert [answer.status_code for answer in given] == [200, 200, 401]


@pytest.mark.parametrize(
    "tokens",
    [[], [""], ["short"], ["with blanks in the middle"], [TOKEN, ""], [TOKEN, OTHER, "a-third-token-of-all"]],
)
def test_an_open_invoker_cannot_be_built(tokens: list[str]) -> None:
    """Without one or two good tokens there is no application."""
    with pytest.raises(Invalid) as caught:
        BearerTokens(tokens)
    assert caught.value.code in {"NO_INVOKER_TOKEN", "BAD_INVOKER_TOKEN"}


def test_tokens_are_not_shown() -> None:
    """Whoever prints the record of collaborators does not print its tokens."""
    services = World().app._services
    assert TOKEN not in repr(services)
    assert TOKEN not in str(services.tokens)


@pytest.mark.parametrize("path", [_path(route) for route in ROUTES])
def test_paths_find_their_route_and_no_other(path: str) -> None:
    """A path leads to its own route; a slash, a blank or another case more lead nowhere."""
    assert find(path) is not None
    for wrong in (path + "/", path + "%20", "/" + path, path.upper(), path.replace(JOB_ID, "{jobId}") + "?"):
        assert find(wrong) is None
