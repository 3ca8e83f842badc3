"""Commands and options whose help is in the language of this process, under headings.

`--help` shows the common options, `--help-all` all of them; `-h` is the same as `--help`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, get_args

import click

from loadstone.cli.help.sections import Section
from loadstone.cli.help.wrapping import Formatter
from loadstone.cli.language import by_text, in_words
from loadstone.cli.screen import ask_for_wide
from loadstone.model.language import Lang
from loadstone.model.message import Joined, Message, say

F = TypeVar("F", bound=Callable[..., Any])

Example = tuple[Message, str]
"""What it does, and the command line."""

DEFAULTS = "loadstone.defaults"
"""The key of a context's `meta` with a `Choose`, if the user has a file of defaults."""

_CHOSEN = "loadstone.defaults.chosen"
_ALL = "loadstone.help.all"
_SHORT = "-h"
_HELP_ALL = "--help-all"
_FLAT = (Section.OPTIONS, Section.GENERAL)
"""A command whose options are all under these headings shows them under one."""


class FileDefault(NamedTuple):
    """The default of an option that the user's file sets."""

    given: Any
    """The value for click."""
    shown: str
    """The value for people."""
    file: str
    """The file's name."""


Choose = Callable[[click.Context, Sequence[str]], Mapping[str, FileDefault]]
"""Returns the defaults from the user's file for a command line, by click's name of the option."""


class Context(click.Context):
    """A context whose help is wrapped by `Formatter`."""

    formatter_class = Formatter


class Option(click.Option):
    """An option with the heading that its command's help shows it under.

    Each switch `--live` has an opposite, `--no-live`, which the help does not show: a command line
    turns off what the user's file of defaults turns on.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        section: Section = Section.OPTIONS,
        rare: bool = False,
        own: bool = False,
        **more: Any,
    ) -> None:
        """`own`: other commands' options of that name mean something else."""
        opposite = _opposite_of(names) if _is_plain_switch(names, more) else None
        if opposite:
            names = [f"{each}/{opposite}" if _is_long(each) else each for each in names]
        super().__init__(names, **more)
        self.section = section
        self.rare = rare or section.rare
        self.is_own = own
        self.has_hidden_opposite = opposite is not None
        if self.metavar is None and isinstance(self.type, click.IntRange | click.FloatRange):
            self.metavar = "N"

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Omit the range of a number: an error shows it to those who exceed it."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Its names, and its description in the language of this process."""
        record = self._record(ctx)
        if record is None or not self.help:
            return record
        names, text = record
        said, more = by_text(self.help), text.removeprefix(self.help)
        if (found := self.from_file(ctx)) is not None:
            said = _DEFAULT.sub("", said)
            more = f" {in_words(_default_of(found))}"
        # Click appends the default; Chinese has no space after a full stop.
        return names, said + (more.lstrip() if said.endswith("。") else more)

    def _record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The record of click, without the opposite that the help does not show."""
        opposites = self.secondary_opts
        if self.has_hidden_opposite:
            self.secondary_opts = []
        try:
            return super().get_help_record(ctx)
        finally:
            self.secondary_opts = opposites

    def from_file(self, ctx: click.Context) -> FileDefault | None:
        """Its default from the user's file, if that sets it for this command."""
        chosen: Mapping[str, FileDefault] = ctx.meta.get(_CHOSEN, {})
        found = chosen.get(self.name or "")
        is_of_another = (
            isinstance(self.flag_value, str) and found and found.given != self.flag_value
        )
        return None if is_of_another else found


_DEFAULT = re.compile(r"\s*\[(?:default: |默认：)[^\]]*\]$")
"""The default at the end of a help text."""


def _default_of(found: FileDefault) -> Message:
    return say("[default: {value}, from {file}]", value=found.shown, file=found.file)


def _is_long(name: str) -> bool:
    return name.startswith("--")


def _is_plain_switch(names: Sequence[str], more: Mapping[str, Any]) -> bool:
    """Whether it is a switch with one name, and not one that ends the command, like --help."""
    is_switch = more.get("is_flag") and "flag_value" not in more and not more.get("is_eager")
    return bool(is_switch) and not any("/" in each for each in names)


def _opposite_of(names: Sequence[str]) -> str | None:
    """`--no-live` for `--live`, and the other way round."""
    name = next(filter(_is_long, names), None)
    if name is None:
        return None
    return f"--{name.removeprefix('--no-')}" if name.startswith("--no-") else f"--no-{name[2:]}"


def option(*names: str, **more: Any) -> Callable[[F], F]:
    """`click.option`, with `section=` and `rare=`."""
    return click.option(*names, cls=Option, **more)


def options_in(section: Section) -> Callable[..., Callable[[Any], Any]]:
    """`option` for several options under the same heading."""
    return partial(option, section=section)


def _show_all(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


_GENERAL = (
    Option(
        ["--lang"],
        type=click.Choice(get_args(Lang)),
        expose_value=False,
        section=Section.GENERAL,
        help=say(
            "Language of what people read: English or Chinese. [default: LOADSTONE_LANG, else the"
            " locale]"
        ),
    ),
    Option(
        ["--wide"],
        is_flag=True,
        expose_value=False,
        callback=ask_for_wide,
        section=Section.GENERAL,
        help=say(
            "Print tables and sentences at their full width, as in a pipe or a file. [default:"
            " COLUMNS, else the terminal's width]"
        ),
    ),
    Option(
        [_HELP_ALL],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        section=Section.GENERAL,
        help=say("Show the help with all options and exit."),
    ),
)


class Explained(click.Command):
    """Common base of commands and groups."""

    context_class = Context

    def __init__(
        self,
        name: str | None = None,
        *,
        params: Sequence[click.Parameter] | None = None,
        examples: Sequence[Example] = (),
        **more: Any,
    ) -> None:
        super().__init__(name, params=[*(params or ()), *_GENERAL], **more)
        self.examples = tuple(examples)

    @property
    def has_rare_options(self) -> bool:
        """Whether `--help-all` shows more options than `--help`."""
        return any(isinstance(each, Option) and each.rare for each in self.params)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Treat `-h` without a value as a request for help, even if it is short for `--host`."""
        if any(_SHORT in each.opts for each in self.params):
            args = [*_with_help(args)]
        self._refuse_several(ctx, args)
        self._refuse_options_as_values(ctx, args)
        choose: Choose | None = ctx.meta.get(DEFAULTS)
        if choose is not None and not isinstance(self, click.Group):
            chosen = choose(ctx, args)
            ctx.meta[_CHOSEN] = chosen
            ctx.default_map = {name: each.given for name, each in chosen.items()}
        return super().parse_args(ctx, args)

    def _refuse_several(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Refuse several of the options that choose one thing: click would take the last one.

        Raises:
            UsageError: `--pdf --markdown`.
        """
        chosen: dict[str, dict[str, None]] = {}
        options = args[: args.index("--")] if "--" in args else args
        for each in self.params:
            if isinstance(each, click.Option) and isinstance(each.flag_value, str):
                given = (word for word in options if word in each.opts)
                chosen.setdefault(each.name or "", {}).update(dict.fromkeys(given))
        for words in chosen.values():
            if len(words) > 1:
                raise click.UsageError(say("give one of {options}", options=Joined(words)), ctx)

    def _refuse_options_as_values(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Refuse `--target --conditions all`: click would take the second option for a value.

        `--target=--conditions` is one.

        Raises:
            BadOptionUsage: an option lacks its value.
        """
        if isinstance(self, click.Group):
            return
        options = [each for each in self.params if isinstance(each, click.Option)]
        known = {word for each in options for word in (*each.opts, *each.secondary_opts)}
        take_one = {
            word
            for each in options
            if each.nargs == 1 and not each.is_flag and not each.count
            for word in each.opts
        }
        words = iter(args)
        for word in words:
            if word == "--":
                return
            if word in take_one and next(words, "") in known:
                text = by_text("Option {name!r} requires an argument.")
                raise click.BadOptionUsage(word, text.format(name=word), ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a usage error from within refers to its help."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """`-h` as well, where it is no other option's."""
        taken = {word for each in self.params for word in each.opts}
        return [word for word in (_SHORT, "--help") if word not in taken]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line: `[OPTIONS] WORKLOAD...`."""
        return [by_text(piece) for piece in super().collect_usage_pieces(ctx)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description: a paragraph, then examples, then the rest."""
        first, _, rest = in_words(self.help or "").partition("\n\n")
        for text in (first, rest):
            if text:
                formatter.write_paragraph()
                with formatter.indentation():
                    formatter.write_text(text)
            if text is first and self.examples:
                self._format_examples(formatter)

    def _format_examples(self, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_heading(in_words(say("Examples")))
        for about, line in self.examples:
            formatter.write(f"  # {in_words(about)}\n  {line}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings, or without headings if there is only one."""
        complete = bool(ctx.meta.get(_ALL))
        shown: dict[Section, list[tuple[str, str]]] = {each: [] for each in Section}
        hidden: dict[Section, None] = {}
        records = list(self._records(ctx))
        if not any(rare for _, rare, _ in records):
            # `--help` already shows everything in that case.
            records = [one for one in records if one[2][0] != _HELP_ALL]
        for section, rare, record in records:
            if rare and not complete:
                hidden[section] = None
            else:
                shown[section].append(record)
        if not any(shown[each] for each in Section if each not in _FLAT):
            shown = {Section.OPTIONS: [*shown[Section.OPTIONS], *shown[Section.GENERAL]]}
        for section, rows in shown.items():
            if rows:
                with formatter.section(in_words(section.title)):
                    formatter.write_dl(rows)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(in_words(_more_options(ctx, list(hidden))))

    def _records(self, ctx: click.Context) -> Iterator[tuple[Section, bool, tuple[str, str]]]:
        """The heading of each option, whether it is rare, and its help."""
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is None:
                continue
            if isinstance(param, Option):
                yield param.section, param.rare and not param.from_file(ctx), record
            else:
                yield Section.GENERAL, False, (record[0], by_text(record[1]))

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first sentence at any length, as lines are wrapped."""
        return first_sentence(in_words(self.help or ""))


def _more_options(ctx: click.Context, hidden: Sequence[Section]) -> Message:
    command = f"{ctx.command_path} {_HELP_ALL}"
    sections = Joined([section.title for section in Section if section in hidden])
    return say("{command} shows more options: {sections}", command=command, sections=sections)


def _with_help(args: Sequence[str]) -> Iterator[str]:
    for word, after in zip(args, (*args[1:], "-"), strict=False):
        yield "--help" if word == _SHORT and after.startswith("-") else word


def first_sentence(text: str) -> str:
    """The first sentence without its full stop."""
    return re.split(r"\.(?:\s|$)|。|\n\n", text, maxsplit=1)[0]


class Command(Explained):
    """A command."""


class Group(Explained, click.Group):
    """A group of commands."""

    command_class = Command
    group_class = type

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options after the commands."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command."""
        rows = []
        for name in self.list_commands(ctx):
            if (found := self.get_command(ctx, name)) is not None:
                rows.append((name, found.get_short_help_str()))
        with formatter.section(in_words(say("Commands"))):
            formatter.write_dl(rows)


def command(name: str | None = None, **more: Any) -> Callable[[Callable[..., Any]], Command]:
    """`click.command`; `help` is for users, the docstring for developers."""
    return click.command(name, **({"cls": Command} | more))


def group(name: str | None = None, **more: Any) -> Callable[[Callable[..., Any]], Group]:
    """`click.group`, in the same way as `command`."""
    return click.group(name, **({"cls": Group} | more))
