"""Makes the pictures of docs/pictures from real terminal output: `python docs/pictures.py`.

Each command runs as a real process on a pseudo-terminal against a real server; what it wrote there is
drawn by rich as an SVG. Ids and times are therefore new each time.
"""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Sequence
from fcntl import ioctl
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lucius import sdk
from lucius.entrypoints.cli.child import await_ready, serving, stop_child
from lucius.runtime.temporal_server import binary
from lucius.services.documents import REPORT, image_pdf, report_pdf
from lucius.testing.processes import Server, free_port
from lucius.testing.temporal import temporal_server

PICTURES = Path(__file__).parent / "pictures"
WIDTH = 96
PROGRAM = [sys.executable, "-m", "lucius.entrypoints.cli"]
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_HALFWAY = re.compile(r"embedding .* working +0\.[4-9]")
_THIRD_PAGE = re.compile(r"page 3 of 6")
_QUESTIONS = (
    "What is the report number?",
    "How many people were supplied with drinking water?",
    "How deep is the deepest well?",
    "What was the total revenue?",
    "When will the next yearly report be published?",
)
_CONTROL = re.compile(r"\x1b\[(\d*)A|\x1b\[2K|\x1b\[\?25[lh]|\r|\n")


class Screen:
    """Just enough of a terminal for what rich writes: up, erase line, return, newline."""

    def __init__(self) -> None:
        self.lines = [""]
        self.row = 0

    def feed(self, text: str) -> None:
        """Take in what a program wrote."""
        at = 0
        for found in _CONTROL.finditer(text):
            self._write(text[at : found.start()])
            self._obey(found)
            at = found.end()
        self._write(text[at:])

    def _write(self, text: str) -> None:
        self.lines[self.row] += text

    def _obey(self, found: re.Match[str]) -> None:
        code = found[0]
        if code == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        elif code.endswith("A"):
            self.row = max(0, self.row - int(found[1] or 1))
        elif code == "\x1b[2K":
            self.lines[self.row] = ""


def filmed(
    arguments: list[str],
    environment: dict[str, str],
    enough: Callable[[str], bool] | None = None,
    program: Sequence[str] = PROGRAM,
) -> str:
    """What stands on the terminal when the command is over, or when there is enough to see."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, WIDTH, 0, 0))
    child = subprocess.Popen(  # noqa: S603
        [*program, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    screen, shown = Screen(), ""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the program has closed its end
            break
        screen.feed(part.decode())
        shown = "\n".join(screen.lines)
        if enough is not None and enough(Text.from_ansi(shown).plain):
            child.kill()
            break
    child.wait()
    os.close(ours)
    return shown


def draw(name: str, command: str, shown: str) -> None:
    """Write one picture."""
    paper = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    paper.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
    paper.print(Text.from_ansi(shown.rstrip()))
    picture = paper.export_svg(title="Lucius", unique_id=f"lucius-{name}")
    # The fonts of the reader's machine will do; a picture should not ask another site for them.
    (PICTURES / f"{name}.svg").write_text(_FONTS.sub("", picture), encoding="utf-8")
    print(f"docs/pictures/{name}.svg")


def main() -> None:
    """Make all of them."""
    echo_pictures()
    reference_pictures()
    temporal_pictures()
    lifebook_pictures()


def reference_pictures() -> None:
    """What the reference services do: a scan being read, and answers with their pages."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with tempfile.TemporaryDirectory() as made:
        home = Path(made).resolve()
        report, scan = report_pdf(home / "report.pdf"), image_pdf((*REPORT, *REPORT[:2]), home / "scan.pdf")
        with serving(home, "--services", "reference", "--files", str(home)) as url:
            environment["LUCIUS_URL"] = url
            live = filmed(
                ["submit", str(scan), "--wait"], environment, lambda text: bool(_THIRD_PAGE.search(text))
            )
            draw("reading", "lucius submit scan.pdf --wait", live)
            asked = [word for question in _QUESTIONS for word in ("--prompt", question)]
            filmed(["submit", str(report), *asked, "--wait"], environment)
            with sdk.Client(url) as client:
                (newest,) = client.send(sdk.jobs.listing(limit=1)).jobs
            draw(
                "answers",
                f"lucius output {newest.job_id[:8]}…",
                filmed(["output", newest.job_id], environment),
            )


def lifebook_pictures() -> None:
    """A lifebook run: steps, a failure, a wait, a resume, what it cost."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PATH": path}
    draw("lifebook", "lucius lifebook demo", filmed(["lifebook", "demo"], environment))


def temporal_pictures() -> None:
    """A job on the temporal engine: as Lucius tells it, and as Temporal lists it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    look = ["workflow", "list", "--query", 'LuciusTenant = "acme"']
    with tempfile.TemporaryDirectory() as made, temporal_server(Path(made).resolve()) as temporal:
        home = Path(made).resolve()
        told = {"LUCIUS_TEMPORAL_ADDRESS": temporal.address, "LUCIUS_WORKSPACE_ROOT": "s3://lucius-workspace"}
        options = ("--engine", "temporal", "--echo-delay", "0.9")
        with Server(home, *options, environment=told) as server:
            server.start()
            environment |= {"LUCIUS_URL": f"http://127.0.0.1:{server.port}"}
            environment |= {"TEMPORAL_ADDRESS": temporal.address}
            filmed(["submit", "s3://bucket/contract.pdf", "--tenant", "acme", "--wait"], environment)
            with sdk.Client(environment["LUCIUS_URL"]) as client:
                (newest,) = client.send(sdk.jobs.listing(limit=1)).jobs
            story = filmed(["events", newest.job_id], environment)
            listed = filmed(look, environment, program=[str(binary())])
    asked = f"\x1b[1;32m$ \x1b[0;1mtemporal workflow list --query '{look[-1]}'\x1b[0m"
    draw("temporal", f"lucius events {newest.job_id[:8]}…", f"{story.rstrip()}\n\n{asked}\n{listed}")


def echo_pictures() -> None:
    """What the command line shows."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), inherited.get("PATH", "")])
    looks = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PATH": path}
    with tempfile.TemporaryDirectory() as home:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        served = inherited | {"LUCIUS_WORKSPACE_ROOT": "s3://lucius-workspace"}
        options = ["--port", str(port), "--data", f"{home}/data", "--services", "echo", "--echo-delay", "0.9"]
        with Path(home, "log").open("wb") as log:
            server = subprocess.Popen([*PROGRAM, "up", *options], stdout=log, stderr=log, env=served)  # noqa: S603
        try:
            await_ready(server, url, Path(home, "log"))
            pictures(url, inherited | looks | {"LUCIUS_URL": url})
        finally:
            stop_child(server)


def pictures(url: str, environment: dict[str, str]) -> None:
    """The scenes."""
    plain = {name: value for name, value in environment.items() if name != "LUCIUS_URL"}
    draw("demo", "lucius demo", filmed(["demo"], plain))
    submit = [
        "submit",
        "s3://bucket/contract.pdf",
        "--type",
        "OCR_EMBEDDING_SIS",
        "--tenant",
        "acme",
        "--wait",
    ]
    live = filmed(submit, environment, lambda text: _HALFWAY.search(text) is not None)
    draw("watch", "lucius " + " ".join(submit), live)
    with sdk.Client(url) as client:
        (newest,) = client.send(sdk.jobs.listing(limit=1)).jobs
        list(client.follow(newest.job_id))
        short = f"{newest.job_id[:8]}…"
        draw("job", f"lucius job {short}", filmed(["job", newest.job_id], environment))
        failing = {
            "tenant_id": "acme", "request_type": "OCR", "schema_version": "1",
            "input_ref": {"uri": "s3://bucket/scan.pdf"}, "output_ref": {"uri": "s3://bucket/out/"},
            "payload": {"echo": {"fail": "retry", "delay_ms": 400}},
        }  # fmt: skip
        job_id = client.send(sdk.commands.submit(failing)).job_id
        for event in client.follow(job_id):
            if event.type == "step.retry_scheduled":
                break
        draw("explain", f"lucius explain {job_id[:8]}…", filmed(["explain", job_id], environment))


if __name__ == "__main__":
    main()
