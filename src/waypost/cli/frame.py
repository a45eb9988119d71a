"""What all commands share: their help with examples, common options, and how errors are told."""

import errno
import functools
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import click
import msgspec

from waypost.kernel.errors import WaypostError
from waypost.kernel.suggesting import did_you_mean
from waypost.kernel.text import harmless, harmless_json, is_text
from waypost.settings import Settings, load_settings
from waypost.telemetry.logs import configure_logs, get_logger

_FILES = frozenset({"data", "config"})
_STEP = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB")


class _Teaching:
    """Help that ends with examples."""

    def __init__(self, *args: Any, examples: Sequence[str], **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = examples

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {example}\n" for example in self.examples))


class Command(_Teaching, click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """File names may be any bytes; everything else that is given must be text."""
        rest = super().parse_args(ctx, args)
        for name, value in ctx.params.items():
            for text in value if isinstance(value, tuple) else (value,):
                if isinstance(text, str) and name not in _FILES and not is_text(text):
                    raise click.UsageError(f"{ascii(text)[:80]} is not text in UTF-8", ctx)
        return rest


command = functools.partial(click.command, cls=Command)


class Group(_Teaching, click.Group):
    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"there is no command {args[0]!r}.{did_you_mean(args[0], self.commands)}", ctx)
        return super().resolve_command(ctx, args)


def with_settings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options that all have, and `load`, which turns them and further flags into settings."""

    @click.option("--data", metavar="DIR", help="Folder for everything kept locally (default: ./waypost-data).")
    @click.option("--config", metavar="FILE", help="Read this file instead of ./waypost.toml.")
    @click.option("--debug", is_flag=True, help="Log more, and show tracebacks.")
    @functools.wraps(function)
    def call(data: str | None, config: str | None, *, debug: bool, **given: Any) -> Any:
        def load(flags: Mapping[str, object] | None = None) -> Settings:
            named = {"data": data, "log.level": "debug" if debug else None, **(flags or {})}
            return _load({name: str(value) for name, value in named.items() if value is not None}, config)

        return function(load, **given)

    return call


Load = Callable[..., Settings]

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document, for scripts.")


def with_json(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `as_json` too."""
    return json_option(with_settings(function))


def _load(flags: Mapping[str, str], config: str | None) -> Settings:
    settings = load_settings(flags, file=config)
    configure_logs(settings.telemetry.level)
    for warning in settings.warnings:
        get_logger("settings").warning(warning)
    return settings


def read_by(reader: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """A callback that reads an option's text, and tells what is wrong with it."""

    def read(_ctx: click.Context, _option: click.Parameter, text: str | None) -> Any:
        try:
            return None if text is None else reader(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


def print_json(document: Any) -> None:
    click.echo(harmless_json(msgspec.json.encode(document).decode()))


def print_line(text: object = "") -> None:
    """Prints a result for people. Others may have written parts of it, so a terminal is given nothing to obey."""
    click.echo(harmless(str(text)))


def print_result(document: Any, text: object, *, as_json: bool) -> None:
    """Prints a document for scripts, or what it says for people."""
    if as_json:
        print_json(document)
    else:
        print_line(text)


def show(document: Any, view: Callable[[Any], object], *, as_json: bool) -> None:
    """Prints a document for scripts, or has it shown to people."""
    (print_json if as_json else view)(document)


def say(text: str) -> None:
    """Writes to the person at the terminal, not into a pipe."""
    click.echo(harmless(text), err=True)


def run_command(command: click.Command) -> NoReturn:
    try:
        code = command.main(standalone_mode=False, prog_name="waypost")
    except WaypostError as error:
        code = _tell(str(error), error.next_step, error.exit_code)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "waypost"
        code = _tell(error.format_message(), f"{path} --help", 2)
    except click.ClickException as error:
        code = _tell(error.format_message(), None, 1)
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except OSError as error:
        code = _tell_os_error(error)
    except Exception as error:  # noqa: BLE001 - the last border: a person gets a line, not a traceback
        _show_traceback_if_asked()
        code = _tell(f"a defect in Waypost: {type(error).__name__}: {error}", "the same command with --debug", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _tell_os_error(error: OSError) -> int:
    _show_traceback_if_asked()
    if error.errno == errno.EPIPE:
        # The reader of our output is gone. Nothing more can be written, not even at exit.
        sys.stdout = None
        return 1
    where = f" ({error.filename})" if error.filename else ""
    return _tell(f"{error.strerror or error}{where}", "waypost doctor", 1)


def _tell(message: str, next_step: str | None, exit_code: int) -> int:
    _show_traceback_if_asked()
    say(f"waypost: {message}")
    if next_step:
        say(f"   next: {next_step}")
    return exit_code


def _show_traceback_if_asked() -> None:
    if "--debug" in sys.argv and sys.exc_info()[0]:
        say(traceback.format_exc())


def read_aloud(size: int) -> str:
    """A size such as `1.5 MiB`; only small ones are in bytes."""
    if size < _STEP:
        return f"{size} B"
    amount = float(size)
    for unit in _UNITS:
        amount /= _STEP
        if round(amount, 1) < _STEP or unit == _UNITS[-1]:
            return f"{amount:.1f} {unit}"
    raise AssertionError
