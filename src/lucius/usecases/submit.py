"""Submit: from the bytes of a command to a durable job, or to the job that already stands for it.

Nothing is created before everything about the command has been checked. `prepare` alone is the dry
run (`plan`); `submit` adds the one commit. The configuration may have changed since a command was
accepted, so a command it does not allow is refused only when no job stands for it: replays are
answered, whatever is configured now. Who may submit for a tenant is asked first, of replays too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lucius.core.idempotency import claim_of, differing_pointers, fingerprint
from lucius.core.job import Order
from lucius.core.payloads import read_sections
from lucius.core.refs import check_ref
from lucius.core.routing import route
from lucius.errors import Forbidden, Invalid, Problem
from lucius.ports.ledger import Claim
from lucius.ports.schematics import request_type_key
from lucius.security.principal import Role, require
from lucius.wire.envelope import read_envelope
from lucius.wire.strict_json import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.core.admission import Limits
    from lucius.core.payloads import Validator
    from lucius.core.protocol import Protocol
    from lucius.ports.engine import Engine
    from lucius.ports.ledger import Opened
    from lucius.ports.schematics import Catalogue, Schematics
    from lucius.security.principal import Principal
    from lucius.wire.envelope import Envelope

DERIVED_KEY_LIFE = 24 * 3_600_000


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A command that may become a job: everything about it was found good."""

    order: Order
    claim: Claim
    limits: Limits


class Submit:
    """Accepts commands."""

    def __init__(
        self,
        engine: Engine,
        schematics: Schematics,
        *,
        validator: Validator,
        check_url: Callable[[str], list[Problem]],
        clock: Callable[[], int],
        new_id: Callable[[], str],
        workspace_root: str,
    ) -> None:
        self._engine = engine
        self._schematics = schematics
        self._validator = validator
        self._check_url = check_url
        self._clock = clock
        self._new_id = new_id
        self._workspace_root = workspace_root.rstrip("/")

    async def submit(
        self,
        raw: bytes,
        principal: Principal,
        *,
        header_key: str | None = None,
        traceparent: str | None = None,
    ) -> Opened:
        """Accept a command given as bytes."""
        return await self.accept(parse(raw), principal, header_key=header_key, traceparent=traceparent)

    async def accept(
        self,
        document: dict[str, Any],
        principal: Principal,
        *,
        header_key: str | None = None,
        traceparent: str | None = None,
    ) -> Opened:
        """Accept a command given as a document. The answer is durable."""
        envelope = _allowed(document, principal, header_key)
        catalogue = self._schematics.current()
        try:
            prepared = self._prepared(catalogue, envelope, traceparent)
        except (Invalid, Forbidden) as refusal:
            return await self._replayed(catalogue, envelope, refusal)
        opened = await self._engine.open(prepared.order, prepared.claim, prepared.limits)
        if opened.duplicate and opened.job.order.idempotency_hash != prepared.order.idempotency_hash:
            raise _other_body(opened.job.order, prepared.order)
        return opened

    def prepare(
        self,
        document: dict[str, Any],
        principal: Principal,
        *,
        header_key: str | None = None,
        traceparent: str | None = None,
    ) -> Prepared:
        """Check a command and make its order. Creates nothing, and looks for no job."""
        envelope = _allowed(document, principal, header_key)
        return self._prepared(self._schematics.current(), envelope, traceparent)

    def _prepared(self, catalogue: Catalogue, envelope: Envelope, traceparent: str | None) -> Prepared:
        protocol = _protocol(catalogue, envelope)
        self._check(catalogue, envelope, protocol)
        routing = route(
            tenant_id=envelope.tenant_id,
            doc_id=envelope.doc_id,
            requested=envelope.mode,
            policy=catalogue.routing,
        )
        now, job_id = self._clock(), self._new_id()
        claim, body_hash = _claim(envelope, protocol.request_type, now)
        order = Order(
            job_id=job_id,
            tenant_id=envelope.tenant_id,
            request_type=protocol.request_type,
            protocol=protocol,
            routing=routing,
            input_ref=envelope.input_ref,
            output_ref=envelope.output_ref,
            workspace_ref={"uri": f"{self._workspace_root}/{envelope.tenant_id}/{job_id}/"},
            payload=envelope.payload,
            schema_version=envelope.schema_version,
            accepted_at=now,
            idempotency_hash=body_hash,
            idempotency_key=envelope.idempotency_key,
            doc_id=envelope.doc_id,
            callback_urls=envelope.callback_urls,
            correlation_id=envelope.correlation_id,
            traceparent=envelope.traceparent or traceparent,
            not_before=envelope.not_before,
            priority=envelope.priority,
            extensions=envelope.extensions,
        )
        return Prepared(order=order, claim=claim, limits=catalogue.limits(envelope.tenant_id))

    async def _replayed(
        self, catalogue: Catalogue, envelope: Envelope, refusal: Invalid | Forbidden
    ) -> Opened:
        """The job that stands for a command nobody would accept now; raises `refusal` if none does."""
        asked = request_type_key(envelope.request_type)
        protocol = catalogue.protocol(asked)
        request_type = asked if protocol is None else protocol.request_type
        claim, _ = _claim(envelope, request_type, self._clock())
        opened = await self._engine.replay(claim, refusal)
        order = opened.job.order
        if asked in order.protocol.aliases:  # may be gone with its protocol; the job knows what it stood for
            request_type = order.request_type
        if fingerprint(_body(envelope, request_type)) != order.idempotency_hash:
            raise refusal
        return opened

    def _check(self, catalogue: Catalogue, envelope: Envelope, protocol: Protocol) -> None:
        policy = catalogue.ref_policy
        problems = [
            *check_ref(envelope.input_ref, policy, envelope.tenant_id, "/input_ref"),
            *check_ref(envelope.output_ref, policy, envelope.tenant_id, "/output_ref"),
        ]
        for number, url in enumerate(envelope.callback_urls):
            problems += [
                Problem(pointer=f"/callback_urls/{number}", code=found.code, message=found.message)
                for found in self._check_url(url)
            ]
        if problems:
            codes = {problem.code for problem in problems}
            code = problems[0].code if len(codes) == 1 else "INVALID_ENVELOPE"
            raise Invalid(problems[0].message, code=code, problems=tuple(problems))
        read_sections(envelope.payload, protocol, self._validator)


def _allowed(document: dict[str, Any], principal: Principal, header_key: str | None) -> Envelope:
    """A well-formed command from somebody who may submit for its tenant."""
    envelope = read_envelope(document, header_key=header_key)
    require(principal, Role.SUBMIT, envelope.tenant_id)
    return envelope


def _claim(envelope: Envelope, request_type: str, now: int) -> tuple[Claim, str]:
    """The key of a command, and the fingerprint of its body."""
    claimed = claim_of(_body(envelope, request_type), envelope.idempotency_key)
    claim = Claim(
        tenant_id=envelope.tenant_id,
        key=claimed.key,
        expires_at=None if claimed.explicit else now + DERIVED_KEY_LIFE,
        release_on_failure=not claimed.explicit,
    )
    return claim, claimed.fingerprint


def _protocol(catalogue: Catalogue, envelope: Envelope) -> Protocol:
    if not catalogue.tenant(envelope.tenant_id).enabled:
        message = f"Tenant {envelope.tenant_id} is switched off; ask whoever operates this Lucius."
        raise Forbidden(message, code="TENANT_DISABLED")
    protocol = catalogue.protocol(envelope.request_type)
    if protocol is None:
        known = ", ".join(recipe.request_type for recipe in catalogue.protocols())
        problem = Problem(
            pointer="/request_type",
            code="UNKNOWN_REQUEST_TYPE",
            message=f"There is no protocol for this request type; known are {known}.",
        )
        raise Invalid(problem.message, code=problem.code, problems=(problem,))
    return protocol


def _body(envelope: Envelope, request_type: str) -> dict[str, Any]:
    """What makes two commands the same: spellings of the request type do not count."""
    return {
        "tenant_id": envelope.tenant_id,
        "request_type": request_type,
        "input_ref": envelope.input_ref,
        "output_ref": envelope.output_ref,
        "payload": envelope.payload,
        "schema_version": envelope.schema_version,
    }


def _other_body(old: Order, new: Order) -> Invalid:
    names = ("request_type", "input_ref", "output_ref", "payload", "schema_version")
    pointers = differing_pointers(
        {name: getattr(old, name) for name in names}, {name: getattr(new, name) for name in names}
    )
    problems = tuple(
        Problem(pointer=pointer, code="DIFFERS", message="Differs from the command that has this key.")
        for pointer in pointers
    )
    message = f"This idempotency key belongs to job {old.job_id}, which was asked for with another body."
    return Invalid(message, code="IDEMPOTENCY_KEY_REUSED", problems=problems)
