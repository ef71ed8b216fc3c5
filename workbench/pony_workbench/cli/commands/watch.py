"""``pony-memory watch``."""

import json
import sys
import time

import click

from pony_memory.recall.journal import JournalFollower, JournalRecord
from pony_workbench.cli import shapes
from pony_workbench.cli.context import Context, Style
from pony_workbench.cli.main import PonyCommand
from pony_workbench.text_safety import fit, visible_line

POLL_SECONDS = 0.2


@click.command("watch", cls=PonyCommand, epilog="Example: pony-memory watch --json | jq .query")
@click.option("--from-start", is_flag=True, help="Begin with what the journal holds already.")
@click.option("--once", is_flag=True, help="Print what is there and leave.")
@click.pass_obj
def command(context: Context, from_start: bool, once: bool) -> None:
    """Follow the recall decisions of every process of this project, until interrupted. With --json, one line each."""
    from pony_memory.errors import Unavailable

    place = context.memory().journal_place()
    if place is None:
        raise Unavailable("the recall journal has no place here: $HOME is not set")
    follower = JournalFollower(place, from_start=from_start or once)
    style = context.style()
    try:
        while True:
            read = follower.poll()
            for record in read.records:
                _print(record, context.json, style)
            if read.skipped:
                click.echo(f"{read.skipped:,} damaged lines were skipped", err=True)
            sys.stdout.flush()
            if once:
                return
            time.sleep(POLL_SECONDS)
    finally:
        follower.close()


def _print(record: JournalRecord, as_json: bool, style: Style) -> None:
    if as_json:
        click.echo(json.dumps(shapes.journal_record(record), ensure_ascii=False))
        return
    query = fit(visible_line(record.query), 50)
    click.echo(f"{style.dim(record.time)}  {record.source}  pid {record.pid}  {style.bold(query)}", color=True)
    for item in record.candidates:
        mark = "✓" if item.verdict == "kept" else "·"
        click.echo(f"  {mark} {item.score:7.3f}  {item.verdict:<15}  {visible_line(item.path)}")
    rest = sum(record.rest.values())
    if rest:
        click.echo(style.dim(f"    and {rest:,} more"), color=True)
