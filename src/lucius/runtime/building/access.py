"""Who may call: keys, tokens of issuers, callback tokens, and the credentials of our own workers."""

from __future__ import annotations

from pathlib import Path

import httpx2
import msgspec

from lucius.adapters.keyrings.callback_key_file import CallbackKeyFile
from lucius.adapters.keyrings.jwks_source import jwks_from_file, jwks_from_url
from lucius.adapters.keyrings.sqlite import SqliteKeyring
from lucius.runtime import nature
from lucius.runtime.reference_workers import worker_keys
from lucius.runtime.secrets import Secrets
from lucius.runtime.settings import Settings
from lucius.runtime.tokens import AttemptTokens
from lucius.security.authenticate import Authenticator, is_open
from lucius.security.jwks import JwksCache
from lucius.security.jwt import JwtRules, JwtVerifier
from lucius.security.keys import Minted
from lucius.security.loopback import check_bind


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Who may call."""

    secrets: Secrets
    keyring: SqliteKeyring
    authenticator: Authenticator
    jwks: JwksCache | None
    tokens: AttemptTokens
    worker_keys: dict[str, Minted]
    """A credential for each worker process, by its name. In memory only: it ends with this process."""


def open_access(settings: Settings, secrets: Secrets) -> Access:
    """Raises when the process would listen where it must not."""
    clock = nature.now_ms
    keyring = SqliteKeyring(secrets.keyring)
    verifier, jwks = _jwt(settings)
    open_mode = is_open(keyring, jwt_configured=verifier is not None)
    check_bind(settings.host, open_mode=open_mode)
    made = worker_keys() if settings.services == "reference" else {}
    own = [minted.key for minted in made.values()]
    return Access(
        secrets=secrets,
        keyring=keyring,
        authenticator=Authenticator(keyring, verifier, open_mode=open_mode, clock=clock, own=own),
        jwks=jwks,
        tokens=attempt_tokens(secrets),
        worker_keys=made,
    )


def attempt_tokens(secrets: Secrets) -> AttemptTokens:
    """The tokens of callbacks: minted where directives are made, verified where callbacks arrive."""
    file = CallbackKeyFile(secrets.callbacks, token_bytes=nature.token_bytes)
    return AttemptTokens(file, clock=nature.now_ms)


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
