"""A browser for the forms that are pages."""

from __future__ import annotations

from tests.browser import browser, visit

__all__ = ["browser", "visit"]
