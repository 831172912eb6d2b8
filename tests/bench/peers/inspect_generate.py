"""inspect-ai's Model.generate: no task, no log of an evaluation."""

from __future__ import annotations

import asyncio

from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ResponseSchema,
    get_model,
)
from inspect_ai.util import JSONSchema
from measuring import SCHEMA, Prompt, arguments, run, score_in


async def main() -> None:
    asked = arguments(__doc__)
    config = GenerateConfig(
        temperature=0,
        max_connections=asked.in_flight,
        max_retries=0,
        cache=False,
        response_schema=ResponseSchema(
            name="judgement", json_schema=JSONSchema.model_validate(SCHEMA), strict=True
        ),
    )
    # max_retries of the configuration is inspect's own; the argument below reaches the openai
    # client under it.
    async with get_model(
        f"openai/{asked.model}",
        config=config,
        base_url=asked.base_url,
        api_key="none",
        responses_api=False,
        max_retries=0,
    ) as model:

        async def judge(prompt: Prompt) -> int | None:
            output = await model.generate(
                [
                    ChatMessageSystem(content=prompt["system"]),
                    ChatMessageUser(content=prompt["user"]),
                ]
            )
            return score_in(output.completion)

        await run(judge, asked.prompts, asked.in_flight)


if __name__ == "__main__":
    asyncio.run(main())
