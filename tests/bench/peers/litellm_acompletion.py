"""litellm's acompletion: no cache, no callbacks, its own default transport (aiohttp)."""

from __future__ import annotations

import asyncio
import os

# Read while litellm is imported: else it loads the nearest .env and fetches its table of prices
# from the network.
os.environ["LITELLM_MODE"] = "PRODUCTION"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from measuring import RESPONSE_FORMAT, Prompt, arguments, messages, run, score_in

litellm.cache = None
litellm.callbacks, litellm.success_callback, litellm.failure_callback = [], [], []
litellm.suppress_debug_info = True
litellm.telemetry = False  # older releases; unknown and harmless to newer ones


async def main() -> None:
    asked = arguments(__doc__)

    async def judge(prompt: Prompt) -> int | None:
        completion = await litellm.acompletion(
            model=f"openai/{asked.model}",
            messages=messages(prompt),
            temperature=0,
            response_format=RESPONSE_FORMAT,
            api_base=asked.base_url,
            api_key="none",
            max_retries=0,
            num_retries=0,
        )
        return score_in(completion.choices[0].message.content)

    await run(judge, asked.prompts, asked.in_flight)


if __name__ == "__main__":
    asyncio.run(main())
