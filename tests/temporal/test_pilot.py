from __future__ import annotations

from lucius.core import commands as cmd
from lucius.core.decide import Chance
from lucius.core.job import standing
from lucius.core.states import JobState
from lucius.engines.temporal.messages import Start, Told
from lucius.engines.temporal.pilot import SHORTEST_REST, Pilot
from lucius.ports.invoker import Advanced
from lucius.testing.jobs import Story, done

NOW = 5_000
"""What Temporal's clock says; any number will do."""


def _asked_in_vain(story: Story) -> Pilot:
    """A pilot that was nudged, asked, and heard nothing new."""
    pilot = Pilot(Start(order=story.order, standing=standing(story.job)))
    pilot.nudge()
    assert pilot.wants()
    pilot.ask(Chance(lease_id="drawn"))
    pilot.learn(Advanced(standing=standing(story.job), now=story.now), NOW)
    return pilot


def test_a_question_in_vain_is_not_asked_again_at_once() -> None:
    """Where the ledger and the workflow differ about what is due, the workflow waits before it asks again."""
    story = Story().published().acked()
    pilot = _asked_in_vain(story)
    due = pilot.due()
    assert due is not None
    assert due >= story.now + SHORTEST_REST
    pilot.reach(due - 1)
    assert not pilot.wants()
    pilot.reach(due)
    assert pilot.wants()


def test_news_ends_the_rest() -> None:
    """A RESULT that comes after a question in vain starts the next step at once."""
    story = Story().published().acked()
    pilot = _asked_in_vain(story)
    after = Story().published().acked().result()
    told = Told(version=after.job.version, state=JobState.IN_PROGRESS, at=story.now)
    pilot.hear(cmd.Result(**story.reply(), result=done()), told)
    assert pilot.wants()


def test_time_passes_by_what_happens() -> None:
    """However late Temporal's clock is, nothing is due before a timer, a signal or an answer says so."""
    story = Story().published()
    pilot = Pilot(Start(order=story.order, standing=standing(story.job)))
    due = pilot.due()
    assert due is not None
    assert pilot.until(due, due + 9_000_000) == 1
    assert not pilot.wants()
    pilot.reach(due)
    assert pilot.wants()
