import click


@click.command()
def export() -> None: ...
