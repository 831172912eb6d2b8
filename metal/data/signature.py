"""The line under every figure: `key:value|key:value`. The same signature gives the same figure."""

from __future__ import annotations

from collections.abc import Mapping


def join(parts: Mapping[str, object]) -> str:
    """`key:value|key:value`, with | written %7C inside a value; parts without a value are left out.

    >>> join({"data": "demo@3f9c", "judge": "a|b", "lang": ""})
    'data:demo@3f9c|judge:a%7Cb'
    """
    given = {key: value for key, value in parts.items() if value not in (None, "")}
    return "|".join(f"{key}:{str(value).replace('|', '%7C')}" for key, value in given.items())
