"""The openai client by itself: default transport, a semaphore."""

from __future__ import annotations

import asyncio

from measuring import RESPONSE_FORMAT, Prompt, arguments, messages, run, score_in
from openai import AsyncOpenAI


async def main() -> None:
    asked = arguments(__doc__)
    async with AsyncOpenAI(base_url=asked.base_url, api_key="none", max_retries=0) as client:

        async def judge(prompt: Prompt) -> int | None:
            completion = await client.chat.completions.create(
                model=asked.model,
                messages=messages(prompt),
                temperature=0,
                response_format=RESPONSE_FORMAT,
            )
            return score_in(completion.choices[0].message.content)

        await run(judge, asked.prompts, asked.in_flight)


if __name__ == "__main__":
    asyncio.run(main())
