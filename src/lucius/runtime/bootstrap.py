"""Puts one embedded Lucius together. The only file that names concrete classes.

Read it top to bottom: storage, configuration, bus, engine, services, then the things people touch.
Nothing runs yet when it is done; `lifecycle.py` starts and stops it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import msgspec

from lucius import __version__
from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.adapters.keyrings.callback_key_file import FILE_NAME, CallbackKeyFile
from lucius.adapters.keyrings.jwks_source import jwks_from_file, jwks_from_url
from lucius.adapters.keyrings.sqlite import SqliteKeyring
from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.adapters.ledgers.sqlite.deliveries import SqliteDeliveries
from lucius.adapters.observed import ObservedBus
from lucius.adapters.schematics.files import FileSchematics
from lucius.core.routing import reply_topics, topics
from lucius.engines.outbox.directives import Directives
from lucius.engines.outbox.duties.due import DueJobs
from lucius.engines.outbox.duties.retention import Retention
from lucius.engines.outbox.engine import OutboxEngine
from lucius.engines.outbox.intake import Intake
from lucius.engines.outbox.relay import Relay
from lucius.entrypoints.api.app import create_app
from lucius.entrypoints.api.services import Services
from lucius.runtime import nature
from lucius.runtime.settings import Settings
from lucius.runtime.tokens import AttemptTokens
from lucius.security.authenticate import Authenticator, is_open
from lucius.security.jwks import JwksCache
from lucius.security.jwt import JwtRules, JwtVerifier
from lucius.security.loopback import check_bind
from lucius.services.echo import EchoService
from lucius.telemetry.asgi import ObservedApp
from lucius.telemetry.gauges import bus_gauges, ledger_gauges
from lucius.telemetry.journal import Journal
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.observer import CommitObserver
from lucius.telemetry.traces import Traces, open_traces, otlp_endpoint
from lucius.usecases.admin import Admin
from lucius.usecases.control import Control
from lucius.usecases.directives import DirectiveDesk
from lucius.usecases.explain import Explain
from lucius.usecases.query import Hub, Query
from lucius.usecases.report import Report
from lucius.usecases.submit import Submit
from lucius.webhooks import guard
from lucius.webhooks.keyfile import open_signer
from lucius.webhooks.outgoing import deliveries_for
from lucius.webhooks.post import Poster, SystemResolver
from lucius.webhooks.sender import Sender
from lucius.wire.schemas import SchemaValidator

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from lucius.ports.duties import Duty
