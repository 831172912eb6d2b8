"""A verb with further verbs under it: `metal billboard DATASET`, and `metal billboard crowd DATASET`."""

from __future__ import annotations

import click


class WithDefault(click.Group):
    """A group whose first word may be left out: then it is the command `default`, whose help is the group's."""

    def __init__(self, *, default: click.Command, short_help: str | None = None) -> None:
        super().__init__(name=default.name, short_help=short_help)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        helps = self.get_help_option_names(ctx)
        if args and args[0] not in self.commands and args[0] not in helps:
            args = ["", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] == "":
            return "", self.default, args[1:]
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with click.Context(self.default, info_name=ctx.info_name, parent=ctx.parent) as shown:
            self.default.format_usage(shown, formatter)
            self.default.format_help_text(shown, formatter)
            self.default.format_options(shown, formatter)
        self.format_commands(ctx, formatter)
