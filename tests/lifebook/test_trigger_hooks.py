"""Hooks: a signed request becomes one run, and nobody else gets in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from standardwebhooks import Webhook

from lucius.errors import Invalid, LuciusError, Unauthenticated
from lucius.lifebook.core.states import TriggerType
from lucius.lifebook.ports.triggers import Hook
from lucius.lifebook.triggers.hooks import MAX_BODY_BYTES, MOST_SIGNATURES, TOLERANCE, genuine_at
from tests.lifebook.trigger_world import NOON, TriggerWorld, trigger_world

BODY = b'{"order": 17}'
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
async def world() -> AsyncIterator[TriggerWorld]:
    """Runs and triggers in memory."""
    async with trigger_world() as found:
        yield found


async def a_hook(world: TriggerWorld, **changes: Any) -> Hook:
    """A new hook."""
    asked = {"workspace_id": "acme", "user_id": "ada", "workflow_id": "report", "given": {"from": "shop"}}
    return await world.triggers.make_hook(**(asked | changes))


def signed(secret: str, body: bytes = BODY, *, name: str = "msg_1", at: int = NOON) -> dict[str, str]:
    """The headers of a request, signed by the library of Standard Webhooks."""
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return {
        "webhook-id": name,
        "webhook-timestamp": str(at // 1000),
        "webhook-signature": Webhook(secret).sign(name, moment, body.decode()),
    }


async def refused(world: TriggerWorld, hook_id: str, headers: dict[str, str], body: bytes = BODY) -> str:
    """What a stranger is told; nothing must come of it."""
    with pytest.raises(Unauthenticated) as found:
        await world.triggers.receive(hook_id, headers, body)
    assert await world.made() == []
    return found.value.message


async def test_a_signed_request_becomes_a_run(world: TriggerWorld) -> None:
    """Its body is the payload beside the hook's own input, its id the key, the hook's user its user."""
    hook = await a_hook(world)
    created = await world.triggers.receive(hook.hook_id, signed(hook.secret), BODY)
    run = created.run
    assert created.fresh
    assert (run.trigger_type, run.user_id, run.workspace_id) == (TriggerType.WEBHOOK, "ada", "acme")
    assert run.input == {"from": "shop", "payload": {"order": 17}}
    assert await world.keys() == {f"webhook:{hook.hook_id}:msg_1"}


async def test_a_replayed_request_is_the_run_it_has_become(world: TriggerWorld) -> None:
    """The same id again makes nothing, also when it is signed anew; another id is another run."""
    hook = await a_hook(world)
    first = await world.triggers.receive(hook.hook_id, signed(hook.secret), BODY)
    world.now += 60_000
    for headers in (signed(hook.secret), signed(hook.secret, at=world.now)):
        again = await world.triggers.receive(hook.hook_id, headers, BODY)
        assert not again.fresh
        assert again.run.job_id == first.run.job_id
    other = await world.triggers.receive(hook.hook_id, signed(hook.secret, name="msg_2"), BODY)
    assert other.fresh
    assert len(await world.made()) == 2


async def test_an_id_that_was_used_for_another_body_is_refused(world: TriggerWorld) -> None:
    """A sender that gives two messages one id is told so."""
    hook = await a_hook(world)
    await world.triggers.receive(hook.hook_id, signed(hook.secret), BODY)
    with pytest.raises(Invalid) as found:
        await world.triggers.receive(hook.hook_id, signed(hook.secret, b"{}"), b"{}")
    assert found.value.code == "IDEMPOTENCY_KEY_REUSED"


async def test_one_id_at_two_hooks_is_two_runs(world: TriggerWorld) -> None:
    """Senders choose ids without knowing of each other."""
    for hook in (await a_hook(world), await a_hook(world)):
        assert (await world.triggers.receive(hook.hook_id, signed(hook.secret), BODY)).fresh


async def test_a_stranger_learns_nothing(world: TriggerWorld) -> None:
    """Forged, altered, stale, early and unsigned requests, and unknown hooks, are told one and the same."""
    hook, other = await a_hook(world), await a_hook(world)
    good = signed(hook.secret)
    cases: list[tuple[str, dict[str, str], bytes]] = [
        ("no-such-hook", good, BODY),
        ("x" * 3_000, good, BODY),
        ("hook#é", good, BODY),
        (hook.hook_id, signed(other.secret), BODY),
        (hook.hook_id, good, BODY + b" "),
        (hook.hook_id, good, b"\xff\xfe"),
        (hook.hook_id, good | {"webhook-id": "msg_2"}, BODY),
        (hook.hook_id, good | {"webhook-timestamp": str(NOON // 1000 + 1)}, BODY),
        (hook.hook_id, good | {"webhook-timestamp": good["webhook-timestamp"] + ".0"}, BODY),
        (hook.hook_id, good | {"webhook-timestamp": "0" + good["webhook-timestamp"]}, BODY),
        (hook.hook_id, good | {"webhook-timestamp": "9" * 400}, BODY),
        (hook.hook_id, good | {"webhook-signature": good["webhook-signature"].replace("v1,", "v2,")}, BODY),
        (hook.hook_id, good | {"webhook-signature": good["webhook-signature"][:-2]}, BODY),
        (hook.hook_id, good | {"webhook-signature": "v1,é v1 , ,"}, BODY),
        (hook.hook_id, signed(hook.secret, at=NOON - TOLERANCE * 1000 - 1000), BODY),
        (hook.hook_id, signed(hook.secret, at=NOON + TOLERANCE * 1000 + 1000), BODY),
        (hook.hook_id, {}, BODY),
        *((hook.hook_id, good | {name: ""}, BODY) for name in good),
    ]
    told = {await refused(world, hook_id, headers, body) for hook_id, headers, body in cases}
    assert len(told) == 1
    assert (await world.triggers.receive(hook.hook_id, good, BODY)).fresh


async def test_an_unknown_hook_costs_the_work_of_a_known_one(
    world: TriggerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something is signed for every request, so that time tells nobody which hooks there are."""
    hook = await a_hook(world)
    seen: list[str] = []

    def counted(now: int, secret: str, headers: dict[str, str], body: bytes) -> bool:
        seen.append(secret)
        return genuine_at(now, secret, headers, body)

    monkeypatch.setattr("lucius.lifebook.triggers.hooks.genuine_at", counted)
    signing: list[str] = []
    real = Webhook.sign

    def sign(webhook: Webhook, name: str, at: datetime, text: str) -> str:
        signing.append(name)
        return real(webhook, name, at, text)

    monkeypatch.setattr(Webhook, "sign", sign)
    for hook_id in ("no-such-hook", hook.hook_id):
        for headers in ({}, {"webhook-id": "a", "webhook-timestamp": "1", "webhook-signature": "v1,x"}):
            await refused(world, hook_id, headers)
    assert len(signing) == len(seen) == 4
    assert seen[0] == seen[1] != seen[2] == seen[3] == hook.secret


async def test_the_edges_of_the_tolerance_are_inside(world: TriggerWorld) -> None:
    """Five minutes early or late is still in time."""
    hook = await a_hook(world)
    for at in (NOON - TOLERANCE * 1000, NOON + TOLERANCE * 1000):
        headers = signed(hook.secret, name=str(at), at=at)
        assert (await world.triggers.receive(hook.hook_id, headers, BODY)).fresh


async def test_a_sender_may_change_its_secret_without_a_gap(world: TriggerWorld) -> None:
    """Of several signatures in the header one good one is enough, within reason."""
    hook = await a_hook(world)
    good = signed(hook.secret)
    own = good["webhook-signature"]
    others = signed(SECRET)["webhook-signature"]
    many = " ".join([others] * MOST_SIGNATURES + [own])
    await refused(world, hook.hook_id, good | {"webhook-signature": many})
    both = good | {"webhook-signature": f"{others} v1a,zzz {own}"}
    assert (await world.triggers.receive(hook.hook_id, both, BODY)).fresh


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "INVALID_JSON"),
        (b"[1]", None),
        (b'{"a": 1, "a": 2}', None),
        (b'{"a": NaN}', None),
        (b'{"a": 123456789012345678}', None),
        (b'{"a": "' + b"x" * MAX_BODY_BYTES + b'"}', "BODY_TOO_LARGE"),
    ],
)
async def test_a_genuine_body_must_still_be_sound(world: TriggerWorld, body: bytes, code: str | None) -> None:
    """What is no strict JSON object of moderate size is refused although it is signed."""
    hook = await a_hook(world)
    with pytest.raises(Invalid) as found:
        await world.triggers.receive(hook.hook_id, signed(hook.secret, body), body)
    assert code in (None, found.value.code)
    assert await world.made() == []


async def test_a_body_that_fills_the_input_is_refused_as_input(world: TriggerWorld) -> None:
    """Body and the hook's own input together keep the limit of a run's input."""
    hook = await a_hook(world, given={"x": "y" * 20_000})
    body = json.dumps({"z": "z" * 20_000}).encode()
    with pytest.raises(Invalid) as found:
        await world.triggers.receive(hook.hook_id, signed(hook.secret, body), body)
    assert found.value.code == "INPUT_TOO_LARGE"


async def test_a_removed_hook_is_no_hook(world: TriggerWorld) -> None:
    """From then on its secret opens nothing."""
    hook = await a_hook(world)
    await world.triggers.remove_hook(hook.hook_id)
    await refused(world, hook.hook_id, signed(hook.secret))
    with pytest.raises(LuciusError):
        await world.triggers.hook(hook.hook_id)
    assert await world.triggers.hooks("acme") == []


async def test_secrets_are_long_and_never_the_same(world: TriggerWorld) -> None:
    """Each hook has a secret of its own, with the prefix senders expect."""
    secrets = {(await a_hook(world)).secret for _ in range(3)}
    assert len(secrets) == 3
    assert all(secret.startswith("whsec_") and len(secret) >= 6 + 43 for secret in secrets)


def test_the_signature_is_the_one_of_the_specification() -> None:
    """The example of the Standard Webhooks libraries is found good, at its own time."""
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    assert genuine_at(1614265330, SECRET, headers, b'{"test": 2432232314}')
    assert not genuine_at(1614265330, SECRET, headers, b'{"test": 2432232315}')
