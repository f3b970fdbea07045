from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lucius.adapters.keyrings.callback_key_file import CallbackKeyFile
from lucius.errors import Invalid
from lucius.security.callback_keys import ACTIVATION_DELAY_MS
from tests.security.builders import NOW, steady_bytes


def key_file(folder: Path, seed: str = "file") -> CallbackKeyFile:
    """The key file of a data directory."""
    return CallbackKeyFile(folder / "secrets" / "callback-keys.json", token_bytes=steady_bytes(seed))


def test_the_first_start_makes_a_private_file(tmp_path: Path) -> None:
    """Nobody else can read the secrets or list their directory, and nothing is left beside them."""
    key_file(tmp_path).load_or_create(NOW)
    (made,) = (tmp_path / "secrets").iterdir()
    assert made.name == "callback-keys.json"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700


def test_keys_survive_a_restart(tmp_path: Path) -> None:
    """Tokens minted before a restart verify after it."""
    before = key_file(tmp_path).load_or_create(NOW).signing(NOW)
    after = key_file(tmp_path, "other").load_or_create(NOW + 1).signing(NOW + 1)
    assert (after.key_id, after.secret) == (before.key_id, before.secret)


def test_processes_that_start_together_share_one_key(tmp_path: Path) -> None:
    """Whoever comes second takes the first one's key."""
    with ThreadPoolExecutor(8) as pool:
        loaded = pool.map(lambda n: key_file(tmp_path, str(n)).load_or_create(NOW), range(16))
        assert len({keys.signing(NOW).secret for keys in loaded}) == 1
    assert len(list((tmp_path / "secrets").iterdir())) == 1


def test_a_rotation_reaches_running_processes_before_it_signs(tmp_path: Path) -> None:
    """A running process sees the new key at its next look, and only then."""
    server, cli = key_file(tmp_path), key_file(tmp_path, "cli")
    old = server.load_or_create(NOW)
    assert server.reload() is None
    cli.rotate(NOW)
    new = server.reload()
    assert new is not None
    assert new.signing(NOW).key_id == old.signing(NOW).key_id
    assert new.signing(NOW + ACTIVATION_DELAY_MS).key_id != old.signing(NOW).key_id
    assert server.reload() is None
    assert stat.S_IMODE((tmp_path / "secrets" / "callback-keys.json").stat().st_mode) == 0o600


def test_an_exposed_file_stops_the_start(tmp_path: Path) -> None:
    """Secrets that others can read are no secrets; the message says what to do."""
    key_file(tmp_path).load_or_create(NOW)
    (tmp_path / "secrets" / "callback-keys.json").chmod(0o640)
    with pytest.raises(Invalid, match="chmod 600"):
        key_file(tmp_path).load_or_create(NOW)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"keys": []}, "NO_CALLBACK_KEY"),
        ({"version": 2}, "BAD_KEY_FILE"),
        ({"extra": 1}, "BAD_KEY_FILE"),
        (
            {"keys": [{"key_id": "k", "secret": "Y2hhbmdlbWU=", "created_at": 0, "active_from": 0}]},
            "WEAK_SECRET",
        ),
    ],
)
def test_a_bad_file_stops_the_start_and_stays(tmp_path: Path, change: dict[str, object], code: str) -> None:
    """Weak, unknown or broken content is refused and never replaced behind the operator's back."""
    files = key_file(tmp_path)
    files.load_or_create(NOW)
    path = tmp_path / "secrets" / "callback-keys.json"
    content = json.dumps(json.loads(path.read_bytes()) | change)
    path.write_text(content)
    with pytest.raises(Invalid) as refused:
        files.load_or_create(NOW)
    assert refused.value.code == code
    assert path.read_text() == content


def test_a_parse_error_does_not_quote_the_file(tmp_path: Path) -> None:
    """A half-written secret does not travel in an error message."""
    files = key_file(tmp_path)
    files.load_or_create(NOW)
    path = tmp_path / "secrets" / "callback-keys.json"
    path.write_text('{"version": "CANARY-CANARY"')
    with pytest.raises(Invalid) as refused:
        files.load_or_create(NOW)
    assert "CANARY" not in str(refused.value)
    assert refused.value.__suppress_context__
