from __future__ import annotations

import time
from pathlib import Path

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from lucius.errors import Invalid
from lucius.webhooks.keyfile import open_signer
from lucius.webhooks.signing import Signer, make_secret

OLD, NEW, ROOT = (make_secret(bytes([n]) * 32) for n in (1, 2, 3))
BODY = '{"name":"Grüße"}'.encode()


def test_every_secret_in_rotation_verifies() -> None:
    """While secrets overlap, receivers with the old and with the new one both accept."""
    signer = Signer(ROOT, {"tenant_a": [NEW, OLD]})
    headers = signer.headers("tenant_a", "j1.4", _now(), BODY)
    for secret in (OLD, NEW):
        assert Webhook(secret).verify(BODY, headers) == {"name": "Grüße"}
    with pytest.raises(WebhookVerificationError):
        Webhook(ROOT).verify(BODY, headers)


def test_tenants_without_a_secret_get_one_each() -> None:
    """A derived secret verifies its own tenant's messages and nobody else's."""
    signer = Signer(ROOT)
    headers = signer.headers("tenant_a", "j1.4", _now(), BODY)
    Webhook(signer.secret_of("tenant_a")).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(signer.secret_of("tenant_b")).verify(BODY, headers)


def test_changed_body_id_or_time_does_not_verify() -> None:
    """The signature covers id, time and every byte."""
    signer = Signer(ROOT, {"tenant_a": [NEW]})
    headers = signer.headers("tenant_a", "j1.4", _now(), BODY)
    later = str(int(headers["webhook-timestamp"]) + 1)
    forgeries = [
        (BODY + b" ", headers),
        (BODY, headers | {"webhook-id": "j1.5"}),
        (BODY, headers | {"webhook-timestamp": later}),
    ]
    for body, forged in forgeries:
        with pytest.raises(WebhookVerificationError):
            Webhook(NEW).verify(body, forged)


@pytest.mark.parametrize("secret", ["", "whsec_", "hunter2", "whsec_aHVudGVyMg==", "whsec_***", NEW[6:]])
def test_weak_secret_is_refused_unseen(secret: str) -> None:
    """A secret that is short or malformed stops the start, and the message does not repeat it."""
    with pytest.raises(Invalid, match="tenant tenant_a") as refused:
        Signer(ROOT, {"tenant_a": [secret]})
    assert not secret or secret == "whsec_" or secret not in refused.value.message


def test_signer_does_not_print_its_secrets() -> None:
    """A signer in a log line shows tenants only."""
    assert repr(Signer(ROOT, {"tenant_a": [NEW]})) == "Signer(tenants=['tenant_a'])"


def test_first_start_makes_a_secret_and_keeps_it(tmp_path: Path) -> None:
    """The installation's secret is made once, private to its owner, and used ever after."""
    path = tmp_path / "data" / "webhooks.json"
    first = open_signer(path, lambda n: b"\x07" * n)
    second = open_signer(path, lambda n: b"\x08" * n)
    assert first.secret_of("tenant_a") == second.secret_of("tenant_a")
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["webhooks.json"]


@pytest.mark.parametrize("content", ["", "{}", '{"installation": 7}', '{"installation": "canary-secret"}'])
def test_unusable_secrets_file_stops_the_start(tmp_path: Path, content: str) -> None:
    """A broken file is never replaced or passed over, and its content is not repeated."""
    path = tmp_path / "webhooks.json"
    path.touch(mode=0o600)
    path.write_text(content)
    with pytest.raises(Invalid) as refused:
        open_signer(path, lambda n: b"\x07" * n)
    assert "canary" not in refused.value.message
    assert path.read_text() == content


def test_secrets_file_open_to_others_stops_the_start(tmp_path: Path) -> None:
    """Secrets that others can read are not secrets."""
    path = tmp_path / "webhooks.json"
    path.write_text(f'{{"installation": "{ROOT}"}}')
    path.chmod(0o644)
    with pytest.raises(Invalid, match="chmod 600"):
        open_signer(path, lambda n: b"\x07" * n)


def _now() -> int:
    return int(time.time() * 1000)
