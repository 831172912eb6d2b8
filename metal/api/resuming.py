"""Going on with a run that was stopped."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from metal.errors import UsageError


def check_resumed(
    function: Callable[..., Any], resume: object, given: Mapping[str, Any], *, free: Collection[str]
) -> None:
    """Raise UsageError where a call that resumes a run also says what the run knows already.

    given: the call's arguments by name; what is empty or at its default was not given. free: what may change.
    """
    for name, parameter in inspect.signature(function).parameters.items():
        value = given[name]
        if name in ("resume", *free) or value is None:
            continue
        if isinstance(value, str | int | tuple | list) and value in (parameter.default, "", (), []):
            continue
        if name in ("data", "judge", "model", "out", "force"):
            why = "knows its dataset and models; to add some"
        else:
            why = f"goes on with what was asked for; to change `{name}`"
        raise UsageError(f'`resume="{resume}"` {why}, name all with `out="{resume}"`')
