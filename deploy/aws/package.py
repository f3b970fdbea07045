"""Builds the package of both Lambda functions: `make lambda`, or `python deploy/aws/package.py --help`.

    pyproject.toml [aws] ──▶ which packages ──▶ their versions and hashes from requirements-extras.lock
                                                    └─▶ wheels for Lambda's processor ─┐
    src ──▶ wheel of Lucius ───────────────────────────────────────────────────────────┤
    --add ──▶ modules with your workflows ─────────────────────────────────────────────┴─▶ zip

Nothing is built here but Lucius's own wheel, and nothing comes from this machine's environment, so a package
for arm64 can be made on x86_64. Of botocore's descriptions of some 430 services, most of its size, only those
that are used stay. The same sources and lock give the same bytes: names are sorted, times are fixed, scripts
are left out. Then Terraform deploys only what changed. `--compile-with` adds bytecode, for quick cold starts.

How it fails: a package that the lock does not have, that has no wheel for Lambda, or whose hash is another
stops it with the tool's own words; so does a result that is too large for Lambda. The zip appears whole or
not at all.
"""

# ruff: noqa: INP001 - a program, not a package
from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements-extras.lock"
PYTHON = "3.12"
"""The functions' runtime."""
PLATFORMS = {"arm64": "aarch64-manylinux_2_28", "x86_64": "x86_64-manylinux_2_28"}
"""Amazon Linux 2023, which python3.12 runs on, has glibc 2.34."""
MOST_UNPACKED = 250 * 1024 * 1024
MOST_UPLOADED = 50 * 1024 * 1024
"""Larger ones must go through a bucket (`package_s3`)."""
SERVICES = frozenset({"dynamodb", "events", "s3", "sqs", "sso", "sso-oidc", "sts"})
"""What Lucius calls, what finding credentials calls, what steps most often want; `--service` adds more."""
LONG_AGO = (1980, 1, 1, 0, 0, 0)
LEFT_OUT = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}
"""Made by installing, and different from machine to machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build it, and say how large it is."""
    parser = argparse.ArgumentParser(description="Build the package of the Lambda functions.")
    parser.add_argument("--architecture", choices=sorted(PLATFORMS), default="arm64")
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "lucius-lambda.zip")
    parser.add_argument("--add", type=Path, action="append", default=[], help="a module or package of yours")
    parser.add_argument(
        "--service", action="append", default=[], help="a further AWS service that steps call"
    )
    parser.add_argument("--compile-with", metavar="PYTHON", help=f"a Python {PYTHON} that compiles it")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="lambda-") as directory:
        room = Path(directory)
        tree = gather(room, PLATFORMS[options.architecture])
        for added in options.add:
            _copy(added, tree / added.name)
        if options.compile_with:
            _compile(tree, options.compile_with)
        unpacked = pack(tree, options.output, SERVICES.union(options.service))
    packed = options.output.stat().st_size
    sizes = f"{packed / 1e6:.1f} MB, {unpacked / 1e6:.1f} MB unpacked"
    sys.stdout.write(f"{options.output} for {options.architecture}: {sizes}\n")
    if unpacked > MOST_UNPACKED:
        options.output.unlink()
        sys.stderr.write("Lambda takes at most 250 MB unpacked: leave something out.\n")
        return 1
    if packed > MOST_UPLOADED:
        sys.stdout.write("It is larger than 50 MB: put it into a bucket and set package_s3.\n")
    return 0


def gather(room: Path, platform: str) -> Path:
    """Everything the functions import, in one directory."""
    target = ("--python-version", PYTHON, "--python-platform", platform)
    names = room / "names.txt"
    _run(
        *("uv", "pip", "compile", "--quiet", *target, "--extra", "aws", "--constraints", str(LOCK)),
        *("--no-header", "--no-annotate", "--output-file", str(names), "pyproject.toml"),
    )
    chosen = room / "requirements.txt"
    chosen.write_text("".join(locked(names.read_text(), LOCK.read_text())))
    tree = room / "tree"
    _run(
        *("uv", "pip", "install", "--quiet", *target, "--target", str(tree), "--no-deps", "--require-hashes"),
        *("--only-binary", ":all:", "--link-mode", "copy", "--requirements", str(chosen)),
    )
    _run(
        *("pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", str(room), "."),
    )
    for wheel in room.glob("lucius-*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tree)
    return tree


def locked(names: str, lock: str) -> Iterator[str]:
    """The lock's own lines, with its hashes, of the packages that are named; ends if one is not in it."""
    blocks = {
        (match["name"], match["version"]): match[0]
        for match in re.finditer(
            r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?:.*\\\n)(?:    --hash=.*\n)+", lock, re.MULTILINE
        )
    }
    for line in names.splitlines():
        name, _, version = line.partition(";")[0].strip().partition("==")
        if (name, version) not in blocks:
            raise SystemExit(f"{LOCK.name} does not have {line!r}: run `make lock`.")
        yield blocks[name, version]


def pack(tree: Path, output: Path, services: Collection[str]) -> int:
    """The directory as a zip whose bytes depend on its contents alone; how many bytes it has unpacked."""
    output.parent.mkdir(parents=True, exist_ok=True)
    inside = (path for path in tree.rglob("*") if path.is_file())
    files = sorted(path for path in inside if wanted(path.relative_to(tree), services))
    unfinished = output.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(tree).as_posix(), LONG_AGO)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    unfinished.replace(output)
    return sum(path.stat().st_size for path in files)


def wanted(path: Path, services: Collection[str]) -> bool:
    """Whether a file of the directory belongs into the package."""
    match path.parts:
        case ("bin" | ".lock", *_):
            return False
        case (room, *_) if room.endswith(".dist-info") and path.name in LEFT_OUT:
            return False
        case ("botocore", "data", service, _, *_):
            return service in services
    return True


def _copy(source: Path, target: Path) -> None:
    if target.exists():
        raise SystemExit(f"{source} would replace what is in the package; give it another name.")
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _compile(tree: Path, python: str) -> None:
    """Add bytecode that is never checked against its source: functions cannot write theirs, nor change."""
    asked = subprocess.run([python, "-V"], capture_output=True, text=True, check=True)  # noqa: S603 - as given
    if not asked.stdout.startswith(f"Python {PYTHON}."):
        raise SystemExit(f"{python} is {asked.stdout.strip()}, and the functions run on Python {PYTHON}.")
    seen = ("-s", str(tree), "-p", "/var/task")
    command = [python, "-m", "compileall", "-qq", "-j", "0", "--invalidation-mode", "unchecked-hash", *seen]
    if subprocess.run([*command, str(tree)], check=False).returncode != 0:  # noqa: S603 - as given
        raise SystemExit(f"{python} could not compile everything.")


def _run(*module: str) -> None:
    """A tool of this environment; its own words are the error."""
    command = [sys.executable, "-m", *module]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:  # noqa: S603 - constants and own paths
        raise SystemExit(f"It failed: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main())
