import click


@click.command("import")
def import_() -> None: ...
