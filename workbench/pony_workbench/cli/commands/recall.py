"""``pony-memory recall``."""

from collections.abc import Iterator

import click

from pony_memory.recall.decisions import Recall
from pony_workbench.cli import shapes
from pony_workbench.cli.context import Context, Style
from pony_workbench.cli.main import PonyCommand
from pony_workbench.cli.writing import warn
from pony_workbench.text_safety import visible, visible_line


@click.command("recall", cls=PonyCommand, epilog="Example: pony-memory recall 'how do we deploy?' --file deploy.py")
@click.argument("prompt")
@click.option("--goal", default="", metavar="TEXT", help="The active goal, a part of the query.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A recent file path; may be given again.")
@click.option("--session", default="", metavar="ID", help="Leave out what this session recalled in its last turns.")
@click.option("--record", is_flag=True, help="Count as a turn of the session and write the recall journal.")
@click.pass_obj
def command(context: Context, prompt: str, goal: str, files: tuple[str, ...], session: str, record: bool) -> None:
    """Show which memories would go into an agent's prompt for PROMPT, and why each other one would not."""
    done = context.memory().recall(prompt, goal=goal, files=files, session=session, record=record)
    warn(context, done.notices)
    context.answer("recall", shapes.recall(done.recall), lambda style: _lines(done.recall, style))


def _lines(made: Recall, style: Style) -> Iterator[str]:
    if not made.decisions:
        yield "No memory shares a word with this."
        return
    yield style.dim(f"best score {made.best_score:.3f}, threshold {made.threshold:.3f}")
    for decision in made.decisions[:30]:
        kept = decision.verdict.value == "kept"
        mark = style.green("✓") if kept else "·"
        verdict = style.green(f"{decision.verdict:<15}") if kept else f"{decision.verdict:<15}"
        yield f"{mark} {decision.rank:>3}  {decision.score:7.3f}  {verdict}  {visible_line(decision.path)}"
    if len(made.decisions) > 30:
        yield style.dim(f"  … and {len(made.decisions) - 30:,} more; --json has all")
    if made.context:
        yield ""
        yield visible(made.context)
    yield style.dim(f"{made.tokens:,} tokens in {len(made.kept)} passages")
