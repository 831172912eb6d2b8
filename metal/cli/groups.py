"""A group of commands with its own error for a word that is none of its commands."""

from __future__ import annotations

import click


class Group(click.Group):
    """A group of commands; `no_command` makes the error for a word that is none of them."""

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        # click keeps those of the first context, which is not always the command line's own
        return ["-h", "--help"]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0].startswith("-"):
                raise
            raise self.no_command(ctx, args, error) from None

    def no_command(self, ctx: click.Context, args: list[str], error: click.UsageError) -> Exception:
        """The error if the first of these words is no command.

        error: the error that click would raise.
        """
        return error
