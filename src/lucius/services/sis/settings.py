"""What an operator can set about SIS, from `LUCIUS_SIS_*`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class SisSettings(BaseSettings):
    """Where more prompt sets lie, and which model may be asked. Without a URL no model is."""

    model_config = SettingsConfigDict(
        env_prefix="LUCIUS_SIS_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    prompt_sets: Path | None = None
    """A directory of prompt sets (`NAME.yaml`); one of a shipped name stands for the shipped one."""
    openai_url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    """The base of an OpenAI-compatible API, such as `http://127.0.0.1:11434/v1`."""
    openai_model: str = "gpt-4o-mini"
    """The model to ask unless the payload names one."""
    openai_key: SecretStr | None = None
    """Sent as a bearer token, nowhere else."""
    openai_timeout: float = Field(default=60.0, gt=0)
    """Seconds to wait for one answer."""
