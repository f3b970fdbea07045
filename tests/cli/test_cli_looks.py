"""How things look: rendering, without a server."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC
from typing import Any, get_args

import msgspec
import pytest
from rich.console import Console, RenderableType

from lucius.core.events import AnyEvent
from lucius.core.states import JobState, StepState
from lucius.entrypoints.cli import endings, outputs
from lucius.entrypoints.cli.envelopes import ask, build, reference
from lucius.entrypoints.cli.session import console, printable
from lucius.entrypoints.cli.show import states, story, words
from lucius.entrypoints.cli.show.answers import content_sheet
from lucius.entrypoints.cli.show.job import listing, sheet
from lucius.entrypoints.cli.show.progress import Progress
from lucius.errors import Invalid, LuciusError, Problem, Saturated, Unavailable
from lucius.sdk.answers import Event, Job

NOW = 1_900_000_000_000


def printed(renderable: RenderableType, width: int = 100) -> str:
    """What a person would read, without colour."""
    out = Console(file=io.StringIO(), width=width, color_system=None)
    out.print(renderable)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def job(**more: Any) -> Job:
    """A job in the middle of its work."""
    document = {
        "jobId": "j1", "tenant_id": "acme", "request_type": "OCR_SIS", "state": "IN_PROGRESS",
        "status": "IN_PROGRESS", "created_at": "2030-03-17T17:46:30Z", "lane": 3, "mode": "DEFAULT",
        "steps": [
            {"step_id": "ocr", "state": "SUCCEEDED", "acked_at": "2030-03-17T17:46:30Z",
             "completed_at": "2030-03-17T17:46:32.500Z"},
            {"step_id": "sis", "state": "FAILED_RETRY", "attempt_no": 2, "last_error_code": "BOOM",
             "retry_at": "2030-03-17T17:46:55Z"},
        ],
    }  # fmt: skip
    return msgspec.convert(document | more, Job)


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (None, "–"),
        (-5, "0.00 s"),
        (520, "0.52 s"),
        (12_340, "12.3 s"),
        (125_000, "2m 05s"),
        (11_520_000, "3h 12m"),
        (187_200_000, "2d 4h"),
    ],
)
def test_durations_read_well(ms: int | None, said: str) -> None:
    """A duration has the precision a person wants at its length."""
    assert words.duration(ms) == said


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (None, "–"),
        ("not a time", "–"),
        ("2030-03-17T17:46:40Z", "just now"),
        ("2030-03-17T17:46:10Z", "30 s ago"),
        ("2030-03-17T17:43:40Z", "3 min ago"),
        ("2030-03-17T12:46:40Z", "5 h ago"),
        ("2030-03-07T17:46:40Z", "10 d ago"),
        ("2030-03-17T17:47:00Z", "in 20 s"),
    ],
)
def test_times_are_told_from_now(at: str | None, said: str) -> None:
    """Past and future are told by their distance."""
    assert words.ago(at, NOW) == said


def test_sizes_counts_and_clocks() -> None:
    """Amounts have units and plurals; times of day are in the reader's zone."""
    assert [words.size(number) for number in (512, 3_400_000, 2e15)] == ["512 B", "3.4 MB", "2000.0 TB"]
    assert [words.count(number, "job") for number in (0, 1, 1200)] == ["0 jobs", "1 job", "1,200 jobs"]
    assert words.clock("2030-03-17T17:46:40+01:00", UTC) == "2030-03-17 16:46:40"


def test_every_state_has_a_look() -> None:
    """No state of the core is shown as unknown; one of a later version is still shown."""
    known = {*JobState, *StepState}
    assert {state for state in known if not states.look(state).word} == set()
    assert "LEVITATING" in states.badge("LEVITATING").plain


def test_every_event_has_a_sentence() -> None:
    """No event of the core is told by its bare name; one of a later version is."""
    for shape in get_args(AnyEvent):
        told = story.sentence(Event(seq=1, at="", type=shape.__struct_config__.tag, more={})).plain
        assert told
        assert told != shape.__struct_config__.tag
    assert story.sentence(Event(seq=1, at="", type="job.levitated")).plain == "job.levitated"


def test_the_story_is_timed_from_its_beginning() -> None:
    """A timeline counts from acceptance and names each step once."""
    shown = story.typed(
        [
            {"seq": 1, "type": "job.accepted", "at": "2030-03-17T17:46:40.000Z"},
            {"seq": 2, "type": "attempt.created", "at": "2030-03-17T17:46:40.002Z", "step_id": "ocr",
             "attempt_no": 1, "lane": 7},
            {"seq": 3, "type": "step.retry_scheduled", "at": "2030-03-17T17:46:41.500Z", "step_id": "ocr",
             "attempt_no": 1, "track": "execution", "error": {"code": "BOOM", "message": "It broke."},
             "retry_at": "2030-03-17T17:47:11.500Z"},
        ]
    )  # fmt: skip
    lines = [line.rstrip() for line in printed(story.timeline(shown)).splitlines()]
    assert lines == [
        "+0.000 s  job  accepted and durable",
        "+0.002 s  ocr  attempt 1 on lane 7",
        "+1.500 s       the work failed: BOOM: It broke; next try in 30.0 s",
    ]


def test_progress_shows_each_step_and_what_it_waits_for() -> None:
    """A line a step: done with its time, waiting with its error and next try."""
    ticks = iter([0.0] * 10)
    shown = printed(Progress(job(), now=NOW, tick=lambda: next(ticks)))
    first, second, third = shown.splitlines()
    assert first.startswith("◑ OCR_SIS  IN_PROGRESS  10.0 s")
    assert "✓" in second
    assert "2.50 s" in second
    assert "↻" in third
    assert "attempt 2 · again in 15.0 s · BOOM" in third


def test_progress_says_that_the_server_is_away_and_forgets_it() -> None:
    """A break is shown until the job is seen again; time goes on meanwhile."""
    ticks = iter([0.0, 5.0, 5.0, 6.0, 7.0, 7.0, 7.0])
    progress = Progress(job(), now=NOW, tick=lambda: next(ticks))
    progress.broke(Unavailable("No Lucius answers at X."))
    away = printed(progress)
    assert "No Lucius answers at X. Connecting again." in away
    assert "15.0 s" in away
    progress.show(job())
    assert "Connecting" not in printed(progress)


def test_a_job_sheet_tells_error_and_ancestor() -> None:
    """What went wrong and where the job comes from is on its sheet."""
    failed = job(state="FAILED_FINAL", error_code="BOOM", error_message="It broke.", ancestor_id="j0")
    shown = printed(sheet(failed, NOW))
    assert "BOOM: It broke." in shown
    assert "retry of   j0" in shown


def test_a_list_keeps_ids_whole_on_a_narrow_terminal() -> None:
    """An id can be copied from the list however narrow the terminal is."""
    long_id = "01a1e131-4dac-72f0-807b-2f65c899ed17"
    assert long_id in printed(listing([job(jobId=long_id)], NOW), width=80)


def test_errors_name_their_pointers_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    """A refused envelope lists every place that is wrong; a full system says when to come back."""
    problems = (
        Problem(pointer="/tenant_id", code="A", message="Is bad."),
        Problem(pointer="/doc_id", code="B", message="Is worse."),
    )
    assert endings.tell(Invalid("2 problems.", code="INVALID_ENVELOPE", problems=problems)) == 1
    told = capsys.readouterr().err.splitlines()
    assert told == ["lucius: 2 problems. [INVALID_ENVELOPE]", "  /tenant_id: Is bad.", "  /doc_id: Is worse."]
    assert endings.tell(Saturated("Full.", retry_after=7)) == 1
    assert "Try again in 7 s." in capsys.readouterr().err


@pytest.mark.parametrize("code", ["SERVER_UNREACHABLE", "ANSWER_LOST", "NOT_LUCIUS"])
def test_a_server_out_of_reach_has_its_own_exit_code(code: str) -> None:
    """Scripts can tell a missing server from a refusal."""
    assert endings.ending_of(Unavailable("Gone.", code=code)) == 3
    assert endings.ending_of(LuciusError("No.")) == 1


def test_nothing_a_server_says_can_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters in a message are not passed on."""
    endings.tell(Invalid("bad \x1b[2J\x07 thing"))
    assert "\x1b" not in capsys.readouterr().err


def test_what_others_wrote_is_made_printable() -> None:
    """Names and messages of clients and services reach the terminal as text, never as commands to it."""
    dirty = {"a\x1b[2J": ["x\x07y", {"b": "c\x9b31m"}], "n": 1, "none": None}
    assert printable(dirty) == {"a?[2J": ["x?y", {"b": "c?31m"}], "n": 1, "none": None}


def test_markup_in_names_is_only_text() -> None:
    """A tenant's brackets and colons are shown as they are."""
    shown = io.StringIO()
    out = console(file=shown)
    out.print(listing([job(request_type="[red]X[/red] :smile:")], NOW))
    assert "[red]X[/red] :smile:" in shown.getvalue()


def test_paths_become_file_references(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is made absolute and escaped; a URI stays as it is."""
    monkeypatch.chdir(tmp_path)
    assert reference("a b.pdf") == {"uri": f"{tmp_path.as_uri()}/a%20b.pdf"}
    assert reference("out/") == {"uri": f"{tmp_path.as_uri()}/out/"}
    assert reference("s3://b/k") == {"uri": "s3://b/k"}


def test_a_json_document_that_is_no_envelope_is_the_input(tmp_path: Any) -> None:
    """A JSON file that does not look like an envelope is a document like any other."""
    document = tmp_path / "data.json"
    document.write_text('{"rows": [1, 2]}')
    assert build(str(document), {"request_type": "SIS"})["input_ref"] == {"uri": document.as_uri()}


def test_answers_are_shown_with_their_pages() -> None:
    """A person sees question, answer, pages and how; what was not found is a dash."""
    shown = printed(
        content_sheet(
            {
                "answered_by": "document",
                "answers": [
                    {"question": "Who signed?", "answer": "Ada", "pages": [2, 5], "how": "pattern"},
                    {"question": "When?", "answer": None, "pages": [], "how": "retrieval"},
                    {"question": "Which?", "answer": ["a", "b"], "pages": None, "how": None},
                    {"id": "dates", "question": "", "answer": "4 May", "pages": [1], "how": "kind:date"},
                ],
            }
        )
    )
    lines = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()]
    assert ["Who signed?", "Ada", "2, 5", "pattern"] in lines
    assert ["When?", "–", "–", "retrieval"] in lines
    assert ["Which?", "a, b", "–", "–"] in lines
    assert ["dates", "4 May", "1", "kind:date"] in lines
    assert "answered from the document alone" in shown


@pytest.mark.parametrize("content", [{"answers": 7}, {"answers": ["x"]}, [1, 2], {"words": 3}])
def test_other_outputs_are_shown_as_json(content: Any) -> None:
    """What only looks like answers is shown as what it is."""
    assert json.loads(printed(content_sheet(content))) == content


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ({"uri": "s3://b/x/out.txt"}, "out.txt"),
        ({"uri": "s3://b/x", "name": "pages/1.png"}, "pages/1.png"),
        ({"uri": "s3://b/x", "name": "../../.ssh/keys"}, ".ssh/keys"),
        ({"uri": "s3://b/x", "name": "/etc/passwd"}, "etc/passwd"),
        ({"uri": "s3://b/x", "name": "..\\..\\boot"}, "boot"),
        ({"uri": "s3://b/..", "name": ""}, "output"),
    ],
)
def test_a_saved_file_stays_where_it_was_asked_for(ref: dict[str, Any], name: str) -> None:
    """No name that a service made up leads out of the directory."""
    assert str(outputs._name(ref)) == name


def test_prompts_become_the_prompt_set() -> None:
    """Questions and stored sets go into the section of the sis step, beside what is there."""
    assert ask(None, None, None) is None
    assert ask({"ocr": {"dpi": 200}}, ["Who?", "When?"], None) == {
        "ocr": {"dpi": 200}, "sis": {"prompt_set": ["Who?", "When?"]}
    }  # fmt: skip
    assert ask({"sis": {"model": "m"}}, None, "invoice") == {"sis": {"model": "m", "prompt_set": "invoice"}}
