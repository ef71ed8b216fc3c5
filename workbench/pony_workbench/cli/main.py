"""``pony-memory``: the entry point, the global options, and the one place where errors become exit statuses.

Commands are imported when they are called: a search must not pay for what it does not use (SPEC §23).
"""

from __future__ import annotations

import difflib
import os
import sys
from importlib import import_module
from typing import Any, Final

import click

from pony_workbench.cli.context import (
    EXIT_DISABLED,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_LOCKED,
    EXIT_NOT_FOUND,
    EXIT_REFUSED,
    EXIT_USAGE,
    Context,
    print_json,
)

#: Command → (module, help line). The help line stands here so that `--help` imports no command.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "list": ("list", "List every file of every scope, and why one is not read."),
    "show": ("show", "Show a memory, page by page."),
    "search": ("search", "Search the memories; best first, with scores and snippets."),
    "recall": ("recall", "Show what would go into a prompt, and why not the rest."),
    "watch": ("watch", "Follow recall decisions as they are made."),
    "review": ("review", "Show the Agent Notes, block by block."),
    "entry": ("entry", "List and change the project's entries."),
    "status": ("status", "Show capacity, drift, the lock, and what is left out."),
    "doctor": ("doctor", "Check that every file can be read safely."),
    "unlock": ("unlock", "Clear the .lock of a process that is gone."),
    "save": ("save", "Append a note to the Agent Notes."),
    "repair": ("repair", "Mend the drift between index and entries."),
    "history": ("history", "Show who changed what, when, from what; take a write back."),
    "backups": ("backups", "List backups, look into one, restore from it."),
    "purge": ("purge", "Remove a text from every file of ours, for good."),
    "init": ("init", "Write a first configuration."),
    "trust": ("trust", "Trust the workspace's configuration as it is now."),
    "tui": ("tui", "Open the workbench."),
    "completion": ("completion", "Print the shell's completion script."),
}
NO_JSON: Final = ("hook", "mcp", "completion", "tui")


def _set(name: str) -> Any:
    def callback(ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        if value:
            setattr(ctx.ensure_object(Context), name, value)
        return value

    return callback


def global_options() -> list[click.Option]:
    """The options that may stand anywhere on the line."""
    directory = click.Path(file_okay=False)
    return [
        click.Option(
            ["--workspace"],
            type=directory,
            metavar="DIR",
            expose_value=False,
            callback=_set("workspace"),
            help="The workspace; default is the git toplevel, or this directory.",
        ),
        click.Option(
            ["--project-dir"],
            type=directory,
            metavar="DIR",
            expose_value=False,
            callback=_set("project_dir"),
            help="Open the project store at DIR.",
        ),
        click.Option(
            ["--json"],
            is_flag=True,
            expose_value=False,
            callback=_set("json"),
            help="Answer with one JSON document, errors included.",
        ),
        click.Option(
            ["--no-color"],
            is_flag=True,
            expose_value=False,
            callback=_set("no_color"),
            help="No colour; NO_COLOR or a pipe do the same.",
        ),
    ]


class PonyCommand(click.Command):
    """A command that takes the global options after its name too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(global_options())


class PonyGroup(click.Group):
    """A group of such commands, with a hint for a mistyped one."""

    command_class = PonyCommand

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(global_options())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = difflib.get_close_matches(name, self.list_commands(ctx), 1, 0.6)
            hint = f" Did you mean {near[0]!r}?" if near else f" Commands: {', '.join(self.list_commands(ctx))}."
            ctx.fail(f"no such command: {name!r}.{hint}")
        return super().resolve_command(ctx, args)


class LazyGroup(PonyGroup):
    """The program itself: commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"pony_workbench.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"pony-memory {version('pony-memory')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 locked, 6 disabled or misconfigured.",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """See, search and review the long-term memory of coding agents."""
    context = ctx.ensure_object(Context)
    if context.json and ctx.invoked_subcommand in NO_JSON:
        ctx.fail(f"{ctx.invoked_subcommand} has no --json")


def main(argv: list[str] | None = None) -> None:
    """Run the program and leave it with the exit status of SPEC §21."""
    _open_closed_streams()
    try:
        code = run(sys.argv[1:] if argv is None else argv)
    except OSError:
        # Telling of a failure failed itself: nobody can be told, the status still can.
        code = EXIT_FAILED
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            # A full or closed output: what is still buffered must not raise once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            code = code or EXIT_FAILED
    sys.exit(code)


def _open_closed_streams() -> None:
    """Fill closed standard streams, so that no file opened later gets the number 0, 1 or 2 and is written to.

    A closed standard output becomes one that refuses writing: what could not be said is a failure, not a success.
    """
    for number, name, flags, mode in (
        (0, "stdin", os.O_RDONLY, "r"),
        (1, "stdout", os.O_RDONLY, "w"),
        (2, "stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - lives as long as the process


def run(argv: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = argv[: argv.index("--")] if "--" in argv else argv
    as_json = "--json" in options
    context = Context()
    try:
        code = cli.main(argv, prog_name="pony-memory", standalone_mode=False, obj=context)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has left; what is still buffered must not raise once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except click.ClickException as error:
        return _usage_error(error, as_json)
    except Exception as error:  # noqa: BLE001 - the border of the program: no traceback reaches a person
        return _failure(error, as_json)


def _usage_error(error: click.ClickException, as_json: bool) -> int:
    hint = None
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"Try '{error.ctx.command_path} --help'."
    _tell(as_json, "usage", error.format_message(), hint)
    return EXIT_USAGE


def _failure(error: Exception, as_json: bool) -> int:
    from pony_memory import errors

    if not isinstance(error, errors.PonyError):
        if os.environ.get("PONY_MEMORY_DEBUG"):
            import traceback

            traceback.print_exception(error)
        if isinstance(error, OSError):
            _tell(as_json, "failed", f"the system refused: {error.strerror or error}", None)
        else:
            _tell(
                as_json,
                "internal",
                f"something that should not happen did: {type(error).__name__}",
                "Please report it; PONY_MEMORY_DEBUG=1 shows where.",
            )
        return EXIT_FAILED
    _tell(as_json, error.code, error.message, error.hint)
    match error:
        case errors.InvalidRequest():
            return EXIT_USAGE
        case errors.NotFound():
            return EXIT_NOT_FOUND
        case errors.Refused():
            return EXIT_REFUSED
        case errors.Locked():
            return EXIT_LOCKED
        case errors.Misconfigured() | errors.Disabled():
            return EXIT_DISABLED
        case _:
            return EXIT_FAILED


def _tell(as_json: bool, code: str, message: str, hint: str | None) -> None:
    if as_json:
        print_json({"ok": False, "error": {"code": code, "message": message, "hint": hint}})
        return
    from pony_workbench.text_safety import visible

    click.echo(f"pony-memory: {visible(message)}", err=True)
    if hint:
        click.echo(visible(hint), err=True)
