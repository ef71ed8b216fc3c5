"""``pony-memory search``."""

import click

from pony_workbench.cli import render, shapes
from pony_workbench.cli.context import Context
from pony_workbench.cli.main import PonyCommand


@click.command(
    "search",
    cls=PonyCommand,
    epilog="Examples: pony-memory search 'staging ssh' --explain; pony-memory search 数据库 --scope workspace",
)
@click.argument("query")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["workspace", "user", "project"]),
    help="Only this scope; may be given again.",
)
@click.option("--limit", type=click.IntRange(1, 20), default=5, show_default=True, help="How many hits at most.")
@click.option("--explain", is_flag=True, help="What each term in each field gave to the score.")
@click.pass_obj
def command(context: Context, query: str, scopes: tuple[str, ...], limit: int, explain: bool) -> None:
    """Search the memories for QUERY by BM25; a hit's links may add up to three more.

    Scores use the whole store's statistics, whatever the scope asked for. Chinese, Japanese and Korean work from one
    character on.
    """
    result = context.memory().search(query, scopes or None, limit, explain)  # type: ignore[arg-type]  # choices
    context.answer("search", shapes.hits(result), lambda style: render.search_result(result, style, explain=explain))
