"""SIS: a set of prompts, answered from a document, each answer with its pages.

    prompts ─▶ rank chunks ─▶ patterns ─▶ kind ─▶ model, if there is one ─▶ best sentences ─▶ not found

The first that has something to say answers. State: the model's connection, nothing else; answers depend on
the document and the prompts alone (unless a model writes them). An empty document has no answers, which is a
result. How it fails is told in the modules that do the work; all but `MODEL_UNAVAILABLE` is final.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

import msgspec

from lucius.sdk.serving.outcomes import Output
from lucius.sdk.serving.service import Service
from lucius.sdk.serving.step import Step
from lucius.services.sis.answers import Answer, Result
from lucius.services.sis.chat import Endpoint, Wishes
from lucius.services.sis.corpus import Corpus
from lucius.services.sis.extraction import Wanted, by_kind, by_patterns
from lucius.services.sis.payload import SisPayload
from lucius.services.sis.prompts import PromptSet
from lucius.services.sis.readable import markdown
from lucius.services.sis.reading import read_corpus
from lucius.services.sis.retrieval import best_sentences, rank
from lucius.services.sis.settings import SisSettings
from lucius.services.sis.stored import places, stored
from lucius.services.sis.summary import central, summarise
from lucius.services.text.vectors import embedder

NO_MODEL: Final = "document"


class SisService(Service[SisPayload]):
    """Answers prompts from the document; asks a model too if the settings name one."""

    step_type: ClassVar[str] = "SIS"
    payload_model = SisPayload

    def __init__(self, settings: SisSettings | None = None) -> None:
        self._settings = settings if settings is not None else SisSettings()
        self._endpoint: Endpoint | None = None

    async def start(self) -> None:
        """Load what all attempts share."""
        await asyncio.to_thread(embedder)
        if self._settings.openai_url is not None:
            self._endpoint = Endpoint(self._settings)

    async def stop(self) -> None:
        """Let go of the model's connection."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()

    async def check(self) -> None:
        """Every stored prompt set can be read."""
        await asyncio.to_thread(self._read_all)

    async def execute(self, step: Step[SisPayload]) -> Output:
        """Read, find, answer, write."""
        asked = step.payload.prompt_set
        prompts = asked if isinstance(asked, PromptSet) else await step.in_thread(self._stored, asked)
        corpus = await read_corpus(step)
        answers = await self._answers(step, corpus, prompts)
        result = self._result(step.payload, corpus, prompts, answers)
        written = await step.workspace.write(
            "result.json", msgspec.json.encode(result), content_type="application/json"
        )
        readable = await step.workspace.write(
            "answers.md", markdown(result).encode(), content_type="text/markdown; charset=utf-8"
        )
        step.log.info("answered", prompts=len(answers), chunks=len(corpus.chunks), by=result.answered_by)
        return Output(output=written, artifacts=(written, readable))

    async def _answers(self, step: Step[SisPayload], corpus: Corpus, prompts: PromptSet) -> list[Answer]:
        wanted = []
        for prompt in prompts.prompts:
            step.cancel.check()
            wanted.append(Wanted(prompt=prompt, ranked=await step.in_thread(rank, corpus, prompt)))
        matched = await by_patterns(step, corpus, wanted)
        answers = []
        for number, one in enumerate(wanted):
            step.progress(0.5 + 0.45 * number / len(wanted), f"prompt {number + 1} of {len(wanted)}")
            answers.append(matched.get(one.prompt.id) or await self._answer(step, corpus, one))
        return answers

    async def _answer(self, step: Step[SisPayload], corpus: Corpus, wanted: Wanted) -> Answer:
        prompt = wanted.prompt
        unanswered = Answer(id=prompt.id, question=prompt.question)
        if not corpus.chunks:
            return unanswered
        if prompt.kind not in {None, "summary"}:
            found = await step.in_thread(by_kind, corpus, wanted)
            if found is not None:
                return found
        if self._endpoint is not None and step.payload.model != NO_MODEL and prompt.question.strip():
            ranked = await step.in_thread(central, corpus) if prompt.kind == "summary" else wanted.ranked
            return await self._endpoint.answer(unanswered, ranked, self._wishes(step.payload))
        if prompt.kind == "summary":
            return await step.in_thread(summarise, corpus, prompt)
        if prompt.kind or prompt.expressions:
            return unanswered  # a value was asked for; a sentence near it would be no answer
        return await step.in_thread(best_sentences, corpus, prompt, wanted.ranked)

    def _wishes(self, payload: SisPayload) -> Wishes:
        model = payload.model or self._settings.openai_model
        return Wishes(model=model, temperature=payload.temperature, max_tokens=payload.max_tokens)

    def _result(
        self, payload: SisPayload, corpus: Corpus, prompts: PromptSet, answers: list[Answer]
    ) -> Result:
        by_model = any(answer.how == "model" for answer in answers)
        unused = payload.model not in {None, NO_MODEL} and self._endpoint is None
        return Result(
            prompt_set=prompts.name,
            answered_by=f"model:{self._wishes(payload).model}" if by_model else NO_MODEL,
            answers=tuple(answers),
            note="No model endpoint is set, so the answers come from the document alone." if unused else "",
            read={"pages": len(corpus.pages), "chunks": len(corpus.chunks)},
        )

    def _stored(self, name: str) -> PromptSet:
        return stored(name, self._settings.prompt_sets)

    def _read_all(self) -> None:
        for name in places(self._settings.prompt_sets):
            self._stored(name)
