"""LangChain's ChatOpenAI with structured output: a pydantic model, the raw reply kept."""

from __future__ import annotations

import asyncio
import os
from typing import Literal

# Else a tracing variable left in the shell sends every call to LangSmith.
os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

from langchain_openai import ChatOpenAI
from measuring import Prompt, arguments, messages, run
from pydantic import BaseModel, ConfigDict


class Judgement(BaseModel):
    """The same as measuring.SCHEMA."""

    model_config = ConfigDict(extra="forbid")
    justification: str
    score: Literal[0, 1, 2]


async def main() -> None:
    asked = arguments(__doc__)
    chat = ChatOpenAI(
        model=asked.model,
        base_url=asked.base_url,
        api_key="none",
        temperature=0,
        max_retries=0,
        cache=False,
    )
    structured = chat.with_structured_output(
        Judgement, method="json_schema", include_raw=True, strict=True
    )

    async def judge(prompt: Prompt) -> int | None:
        reply = await structured.ainvoke(messages(prompt))
        return reply["parsed"].score if reply["parsed"] else None

    await run(judge, asked.prompts, asked.in_flight)


if __name__ == "__main__":
    asyncio.run(main())
