import click


@click.command()
def audit() -> None: ...
