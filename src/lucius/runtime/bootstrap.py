"""Puts one embedded Lucius together. The only file that names concrete classes.

Read it top to bottom: storage, configuration, bus, engine, services, then the things people touch.
Nothing runs yet when it is done; `lifecycle.py` starts and stops it.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import msgspec

from lucius import __version__
from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.adapters.keyrings.callback_key_file import CallbackKeyFile
from lucius.adapters.keyrings.jwks_source import jwks_from_file, jwks_from_url
from lucius.adapters.keyrings.sqlite import SqliteKeyring
from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.adapters.ledgers.sqlite.deliveries import SqliteDeliveries
from lucius.adapters.observed import ObservedBus
from lucius.adapters.schematics.files import FileSchematics
from lucius.adapters.schematics.watch import WatchFiles
from lucius.core.routing import reply_topics, topics
from lucius.dispatch.directives import Directives
from lucius.dispatch.intake import Intake
from lucius.dispatch.recovery import recover
from lucius.dispatch.relay import Relay
from lucius.engines.outbox.due import DueJobs
from lucius.engines.outbox.engine import OutboxEngine
from lucius.entrypoints.api.app import create_app
from lucius.entrypoints.api.services import Services
from lucius.errors import Invalid
from lucius.runtime import nature, reference
from lucius.runtime.configured import Configured, step_defaults, tell_reload
from lucius.runtime.reference_workers import worker_keys, workers
from lucius.runtime.secrets import Secrets
from lucius.runtime.settings import Settings
from lucius.runtime.state import State
from lucius.runtime.tokens import AttemptTokens
from lucius.runtime.workers import Workers
from lucius.security.authenticate import Authenticator, is_open
from lucius.security.jwks import JwksCache
from lucius.security.jwt import JwtRules, JwtVerifier
from lucius.security.keys import Minted
from lucius.security.loopback import check_bind
from lucius.services.echo import EchoService
from lucius.telemetry.asgi import ObservedApp
from lucius.telemetry.gauges import bus_gauges, ledger_gauges
from lucius.telemetry.journal import Journal
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.observer import CommitObserver
from lucius.telemetry.traces import Traces, attempt_traceparent, open_traces, otlp_endpoint
from lucius.usecases.admin import Admin
from lucius.usecases.control import Control
from lucius.usecases.directives import DirectiveDesk
from lucius.usecases.explain import Explain
from lucius.usecases.query import Hub, Query
from lucius.usecases.report import Report
from lucius.usecases.retention import Retention
from lucius.usecases.submit import Submit
from lucius.webhooks import guard
from lucius.webhooks.keyfile import open_signer
from lucius.webhooks.outgoing import deliveries_for
from lucius.webhooks.post import Poster, SystemResolver
from lucius.webhooks.sender import Sender
from lucius.wire.schemas import SchemaValidator

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp

    from lucius.ports.duties import Duty
    from lucius.ports.duties import Report as RecoveryReport

    OnFailure = Callable[[BaseException], None]

INTAKES = 4
"""Readers of the reply topics: while one waits for its commit, the next reads on."""


class Watching(msgspec.Struct, frozen=True, kw_only=True):
    """What sees everything and changes nothing."""

    metrics: Metrics
    traces: Traces
    hub: Hub


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Who may call."""

    secrets: Secrets
    keyring: SqliteKeyring
    authenticator: Authenticator
    jwks: JwksCache | None
    tokens: AttemptTokens
    worker_keys: dict[str, Minted]
    """A credential for each worker process, by its name. In memory only: it ends with this process."""

    def webhook_policy(self) -> guard.Policy:
        """This machine may be called as long as only this machine can ask for it."""
        return guard.Policy(allow_loopback=self.authenticator.open)


class Driving(msgspec.Struct, frozen=True, kw_only=True):
    """What moves jobs."""

    files: FileSchematics
    schematics: Configured
    ledger: SqliteLedger
    bus: EmbeddedBus
    observed_bus: ObservedBus
    relay: Relay
    engine: OutboxEngine
    topics: tuple[str, ...]


class Lucius(msgspec.Struct, frozen=True, kw_only=True):
    """One Lucius, put together and at rest."""

    settings: Settings
    secrets: Secrets
    app: ASGIApp
    ledger: SqliteLedger
    bus: EmbeddedBus
    engine: OutboxEngine
    relay: Relay
    schematics: Configured
    keyring: SqliteKeyring
    authenticator: Authenticator
    metrics: Metrics
    traces: Traces
    hub: Hub
    duties: tuple[Duty, ...]
    intakes: tuple[Intake, ...]
    sender: Sender
    echo: EchoService | None
    workers: Workers | None
    jwks: JwksCache | None
    recover: Callable[[], Awaitable[RecoveryReport]]
    """Publish again what a volatile bus forgot."""
    state: State


def build(settings: Settings, *, on_failure: OnFailure | None = None) -> Lucius:
    """Put everything together; needs a running event loop, starts nothing."""
    _make_room(settings)
    access = _access(settings)
    watching = _watching(settings)
    driving = _driving(settings, access, watching, on_failure)
    deliveries, sender = _webhooks(access, watching, driving.ledger)
    state = State()
    services = _services(settings, access, watching, driving, deliveries=deliveries, state=state)
    ledger, engine = driving.ledger, driving.engine
    return Lucius(
        settings=settings,
        secrets=access.secrets,
        app=ObservedApp(create_app(services), metrics=watching.metrics, traces=watching.traces),
        ledger=ledger,
        bus=driving.bus,
        engine=engine,
        relay=driving.relay,
        schematics=driving.schematics,
        keyring=access.keyring,
        authenticator=access.authenticator,
        metrics=watching.metrics,
        traces=watching.traces,
        hub=watching.hub,
        duties=_duties(settings, access, driving),
        intakes=tuple(
            Intake(driving.observed_bus, engine.report, sleep=nature.sleep) for _ in range(INTAKES)
        ),
        sender=sender,
        echo=_echo(settings, driving),
        workers=workers(settings, access.secrets.root, access.worker_keys),
        jwks=access.jwks,
        recover=lambda: recover(ledger, driving.relay),
        state=state,
    )


def _make_room(settings: Settings) -> None:
    if settings.services == "reference":
        reference.require()
    if settings.data == Path(":memory:") and not settings.in_memory:
        message = "A ledger in memory forgets accepted jobs; if that is meant, say so with --in-memory."
        raise Invalid(message, code="LEDGER_NOT_DURABLE")
    if not settings.in_memory:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)


def _access(settings: Settings) -> Access:
    clock = nature.now_ms
    secrets = Secrets(settings)
    keyring = SqliteKeyring(secrets.keyring)
    verifier, jwks = _jwt(settings)
    open_mode = is_open(keyring, jwt_configured=verifier is not None)
    check_bind(settings.host, open_mode=open_mode)
    made = worker_keys() if settings.services == "reference" else {}
    own = [minted.key for minted in made.values()]
    key_file = CallbackKeyFile(secrets.callbacks, token_bytes=nature.token_bytes)
    return Access(
        secrets=secrets,
        keyring=keyring,
        authenticator=Authenticator(keyring, verifier, open_mode=open_mode, clock=clock, own=own),
        jwks=jwks,
        tokens=AttemptTokens(key_file, clock=clock),
        worker_keys=made,
    )


def _watching(settings: Settings) -> Watching:
    return Watching(
        metrics=Metrics(clock=nature.now_ms, version=__version__, tenants=settings.metrics_tenants),
        traces=open_traces(otlp_endpoint(settings.otlp_endpoint, os.environ), version=__version__),
        hub=Hub(),
    )


def _driving(settings: Settings, access: Access, watching: Watching, on_failure: OnFailure | None) -> Driving:
    clock, metrics = nature.now_ms, watching.metrics
    files = FileSchematics(settings.config, clock=clock, defaults=step_defaults(settings))
    schematics = Configured(files, settings)
    ledger = SqliteLedger(
        settings.ledger_path, clock=clock, on_failure=on_failure, observe=metrics.observe_commit_seconds
    )
    ledger.on_commit(CommitObserver(metrics=metrics, journal=Journal(), traces=watching.traces).listen)
    ledger.on_commit(watching.hub.listen)
    directive_topics = topics(two_grids=schematics.current().two_grids)
    bus = EmbeddedBus(
        topics=(*directive_topics, *reply_topics()),
        clock=clock,
        lock_seconds=settings.lock_seconds,
        new_token=nature.lock_token,
    )
    observed = ObservedBus(bus, metrics.observe_bus)
    metrics.gauges("ledger", ledger_gauges(ledger, clock=clock, limit=schematics.system_limit))
    metrics.gauges("bus", bus_gauges(bus))
    relay = Relay(ledger, observed)
    callbacks = {name: f"{settings.base_url}/v1/callbacks/{name}" for name in ("ack", "heartbeat", "result")}
    engine = OutboxEngine(
        ledger,
        relay,
        render=Directives(access.tokens.mint, callbacks, span=partial(attempt_traceparent, watching.traces)),
        tell=deliveries_for,
        clock=clock,
        chance=nature.chance,
        untraced=metrics.observe_reply,
    )
    return Driving(
        files=files,
        schematics=schematics,
        ledger=ledger,
        bus=bus,
        observed_bus=observed,
        relay=relay,
        engine=engine,
        topics=directive_topics,
    )


def _webhooks(access: Access, watching: Watching, ledger: SqliteLedger) -> tuple[SqliteDeliveries, Sender]:
    deliveries = SqliteDeliveries(ledger.reader.query, lambda sql, values: ledger.execute([(sql, [values])]))
    sender = Sender(
        deliveries=deliveries,
        poster=Poster(policy=access.webhook_policy, resolver=SystemResolver()),
        signer=open_signer(access.secrets.webhooks, nature.token_bytes),
        clock=nature.now_ms,
        chance=nature.spread,
        sleep=nature.sleep,
        observe=watching.metrics.observe_webhook,
    )
    ledger.on_commit(lambda changes: sender.wake() if any(c.deliveries for c in changes) else None)
    return deliveries, sender


def _services(
    settings: Settings,
    access: Access,
    watching: Watching,
    driving: Driving,
    *,
    deliveries: SqliteDeliveries,
    state: State,
) -> Services:
    clock, new_id = nature.now_ms, nature.new_id
    ledger, engine, bus, schematics = driving.ledger, driving.engine, driving.bus, driving.schematics
    control = Control(engine, ledger, schematics, clock=clock, new_id=new_id)
    usage = ledger.tally.usage
    return Services(
        submit=Submit(
            engine,
            schematics,
            validator=SchemaValidator(),
            check_url=lambda url: guard.check_url(url, access.webhook_policy()),
            clock=clock,
            new_id=new_id,
            workspace_root=settings.workspace_uri(access.secrets.root),
        ),
        report=Report(engine, access.tokens.verify),
        control=control,
        query=Query(ledger, deliveries, hub=watching.hub),
        explain=Explain(ledger, engine, bus, schematics, usage=usage, clock=clock),
        directives=DirectiveDesk(driving.observed_bus, schematics, topics=driving.topics),
        admin=Admin(ledger, engine, bus, schematics, control, usage=usage, clock=clock),
        authenticator=access.authenticator,
        ready=lambda: state.readiness(ledger),
        clock=clock,
        new_id=new_id,
        metrics_text=watching.metrics.exposition,
        events_hub=watching.hub,
        version=__version__,
    )


def _duties(settings: Settings, access: Access, driving: Driving) -> tuple[Duty, ...]:
    ledger, clock = driving.ledger, nature.now_ms
    return (
        DueJobs(ledger, driving.bus, driving.engine, clock=clock, interval=settings.sweep_seconds),
        Retention(ledger, clock=clock, keep_ms=int(settings.retention_days * 86_400_000)),
        WatchFiles(driving.files, tell=tell_reload),
        access.tokens,
    )


def _echo(settings: Settings, driving: Driving) -> EchoService | None:
    if settings.services != "echo":
        return None
    return EchoService(
        driving.observed_bus,
        clock=nature.now_ms,
        sleep=nature.sleep,
        chance=nature.spread,
        step_types=[name.strip() for name in settings.echo_step_types.split(",") if name.strip()] or None,
        delay=settings.echo_delay,
        failure_rate=settings.echo_failure_rate,
        topics=driving.topics,
    )


def _jwt(settings: Settings) -> tuple[JwtVerifier | None, JwksCache | None]:
    if settings.jwt_issuer is None:
        return None, None
    rules = JwtRules(
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience or "",
        tenants_claim=settings.jwt_tenants_claim,
        roles_claim=settings.jwt_roles_claim,
    )
    source = settings.jwt_jwks or f"{settings.jwt_issuer.rstrip('/')}/.well-known/jwks.json"
    if "://" in source:
        fetch = jwks_from_url(source, httpx2.AsyncClient(timeout=5.0))
    else:
        fetch = jwks_from_file(Path(source))
    cache = JwksCache(fetch, clock=nature.now_ms)
    return JwtVerifier(rules, cache, clock=nature.now_ms), cache
