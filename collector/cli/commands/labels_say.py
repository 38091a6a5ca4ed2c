"""`tracejury labels add`, `withdraw`, `score`, `review`, `compare`, `session` and others: what people say; `delete`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from tracejury.collector.cli.labels_options import as_option
from tracejury.collector.cli.options import Decorator, Moment, api_options, show_rows
from tracejury.schemas.annotations import (
    Annotation,
    Better,
    HumanScore,
    Label,
    Opinion,
    PatternLabel,
    PatternMark,
    Preference,
    Review,
    ScoreOutcome,
    SessionLabel,
)
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.filters import an_id
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.moments import parse_length, parse_since

if TYPE_CHECKING:
    from tracejury.collector.api.client import ApiClient

run_option: Decorator = click.option(
    "--run", default="", metavar="ID", help="The agent run; that of the trace's one manager by default."
)
why_option: Decorator = click.option("--why", default="", metavar="TEXT", help="An explanation.")
withdraw_option: Decorator = click.option("--withdraw", "withdrawn", is_flag=True, help="Take it back.")


@click.command("add")
@click.argument("finding", default="", metavar="[FINDING]")
@click.option("--agree", "opinion", flag_value=Opinion.AGREE.value, help="The finding is right.")
@click.option("--disagree", "opinion", flag_value=Opinion.DISAGREE.value, help="It is no error.")
@click.option("--other-span", "opinion", flag_value=Opinion.OTHER_SPAN.value, help="It was made at --span.")
@click.option("--missed", "opinion", flag_value=Opinion.MISSED.value, help="No finding names it (no FINDING).")
@click.option("--trace", "trace_id", default="", metavar="ID")
@click.option("--span", "span_id", default="", metavar="ID", help="Where the error was made.")
@click.option("--category", default="", help="Of a missed error; one of TRAIL's unless --taxonomy names another.")
@click.option("--taxonomy", default="", metavar="NAME")
@click.option("--severity", type=click.Choice(list(map(str, Severity))), help="Of a missed error (default: MEDIUM).")
@click.option("--quote", "evidence", default="", metavar="TEXT", help="The evidence.")
@why_option
@as_option
@api_options
def add(*, finding: str, opinion: str | None, why: str, style: str, url: str, **given: str | None) -> None:
    """Say what you think of FINDING (the id of an error or a finding), or, with --missed, of an error at a span.

    Another opinion of yours on the same replaces it. An opinion on an error covers its findings at its primary span.
    """
    if opinion is None:
        raise click.UsageError("say one of --agree, --disagree, --other-span and --missed")
    if (opinion == Opinion.MISSED) == bool(finding):
        raise click.UsageError("name the FINDING, or say --missed with --trace, --span and --category")
    item = {**given, "finding_id": finding, "opinion": opinion, "explanation": why}
    _add(Annotation, [item], style, url)


@click.command("withdraw")
@click.argument("ids", nargs=-1, required=True, metavar="ANNOTATION...")
@click.option("--trace", default="", metavar="ID", help="Where annotations of several traces have that id.")
@api_options
def take_back(*, ids: tuple[str, ...], trace: str, style: str, url: str) -> None:
    """Take annotations back: they are kept, and count nowhere."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.labels import labels_table

    with ApiClient(url) as client:
        rows = [client.withdraw_annotation(annotation_id, trace) for annotation_id in ids]
    show_rows(rows, labels_table(Annotation.plural), style)


@click.command("score")
@click.argument("trace")
@click.argument("scores", nargs=-1, required=True, metavar="DIMENSION=SCORE...")
@run_option
@why_option
@click.option("--withdraw", "withdrawn", is_flag=True, help="Take the scores of these dimensions back.")
@as_option
@api_options
def score(
    *, trace: str, scores: tuple[str, ...], run: str, why: str, withdrawn: bool, annotator: str, style: str, url: str
) -> None:
    """Score an agent run: GF=2 TC=0 PQ=na (0 to 3, 3 best; na: not applicable).

    The dimensions are PQ (plan quality), PA (plan adherence), GF (goal fulfilment), LC (logical consistency), EE
    (execution efficiency), TS (tool selection) and TC (tool calling).
    """
    about = {"annotator": annotator, "trace_id": trace, "agent_run_id": run, "explanation": why}
    _add(HumanScore, [{**about, **_score(text, withdrawn=withdrawn)} for text in scores], style, url)


@click.command("review")
@click.argument("trace")
@run_option
@click.option("--drawn", is_flag=True, help="`labels queue` gave it to you, for calibration.")
@click.option("--since", type=Moment(), default="", help="As you gave it to `labels queue`, with --drawn.")
@click.option("--until", type=Moment(), default="", help="Likewise.")
@withdraw_option
@as_option
@api_options
def review(
    *, trace: str, run: str, drawn: bool, withdrawn: bool, annotator: str, style: str, url: str, **times: str
) -> None:
    """Say that you have looked at the whole of an agent run: what is not marked in it, is no error.

    Only what was --drawn calibrates rates: runs that somebody picked are not like the others.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.api.drawn_run import drawn_run

    item: dict[str, Any] = {"annotator": annotator, "trace_id": trace, "agent_run_id": run, "withdrawn": withdrawn}
    if drawn:
        with ApiClient(url) as client:
            found = drawn_run(client, trace, run, {"annotator": annotator, **times})
        item |= found.model_dump(include={"agent_run_id", "stratum", "probability"})
    _add(Review, [item], style, url)


@click.command("compare")
@click.argument("first", metavar="SESSION")
@click.argument("second", metavar="SESSION")
@click.option("--better", type=click.Choice(list(map(str, Better))), help="The better one; same: neither.")
@click.option("--service", default="", metavar="NAME", help="Where several services have these sessions.")
@why_option
@withdraw_option
@as_option
@api_options
def compare(
    *, first: str, second: str, better: str | None, service: str, why: str, withdrawn: bool, annotator: str, style: str,
    url: str,
) -> None:  # fmt: skip
    """Say which of two sessions of a service is better.

    The page /compare shows both side by side, without what would tell their versions.
    """
    if better is None and not withdrawn:
        raise click.UsageError("say --better first, second or same")
    item = {"annotator": annotator, "service": service, "session_id": first, "other_session_id": second}
    said = {"better": better or Better.SAME.value, "explanation": why, "withdrawn": withdrawn}
    _add(Preference, [item | said], style, url)


@click.command("session")
@click.argument("session", metavar="ID")
@click.option("--good", is_flag=True, help="Right tool work and right conduct.")
@click.option("--bad", is_flag=True, help="Anything else.")
@click.option("--satisfied", type=click.Choice(["yes", "no"]), help="Whether the user is satisfied.")
@click.option(
    "--situation",
    default="",
    metavar="NAME",
    help="`correct`, or what went wrong (docs/scope.md).",
)
@click.option("--service", default="", metavar="NAME", help="Where several services have this session.")
@why_option
@withdraw_option
@as_option
@api_options
def label_session(
    *, session: str, good: bool, bad: bool, satisfied: str | None, why: str, withdrawn: bool, style: str, url: str,
    **given: str,
) -> None:  # fmt: skip
    """Say whether the session ID was good or bad on the whole; of a trace without a session, ID is the trace's."""
    if good and bad:
        raise click.UsageError("say --good or --bad, not both")
    if not (good or bad or withdrawn):
        raise click.UsageError("say --good or --bad")
    item = {**given, "session_id": session, "good": good, "explanation": why, "withdrawn": withdrawn}
    _add(SessionLabel, [item | {"satisfied": satisfied and satisfied == "yes"}], style, url)


@click.command("pattern")
@click.argument("pattern", metavar="ID")
@click.option("--acknowledge", "mark", flag_value=PatternMark.ACKNOWLEDGED.value, help="Somebody sees to it.")
@click.option("--resolve", "mark", flag_value=PatternMark.RESOLVED.value, help="It should be gone from now on.")
@click.option("--ignore", "mark", flag_value=PatternMark.IGNORED.value, help="It is not to be told of.")
@click.option("--in", "version", default="", metavar="VERSION", help="Of --resolve: the first version without it.")
@click.option(
    "--until", default="", metavar="1h|30m|2d|ISO", help="Of --ignore: for so long, or until then; else for good."
)
@why_option
@withdraw_option
@as_option
@api_options
def label_pattern(
    *, pattern: str, mark: str | None, until: str, why: str, withdrawn: bool, style: str, url: str, **given: str
) -> None:
    """Say what becomes of the pattern ID; of several people the last to say something is heard."""
    if mark is None and not withdrawn:
        raise click.UsageError("say one of --acknowledge, --resolve and --ignore")
    item = {**given, "pattern": pattern, "mark": mark or PatternMark.ACKNOWLEDGED.value, "explanation": why}
    _add(PatternLabel, [item | {"until": _ahead(until) if until else 0, "withdrawn": withdrawn}], style, url)


def _ahead(until: str) -> int:
    """The point in time, which must be to come, in unix nanos; a length counts from now on."""
    now = time.time_ns()
    try:
        then = now + parse_length(until)
    except ValueError:
        try:
            then = parse_since(until, now)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--until") from None
    if then <= now:
        raise click.BadParameter(f"{until[:40]!r} is over already", param_hint="--until")
    return then


@click.command("outcome")
@click.argument("name", metavar="SCORE")
@click.option("--good", default="", metavar="COMPARISON", help="What makes a session good: '>=1', or '=up'.")
@why_option
@withdraw_option
@as_option
@api_options
def label_outcome(*, name: str, good: str, why: str, withdrawn: bool, style: str, url: str, **given: str) -> None:
    """Say that scores of the name SCORE, which others give, tell good sessions from bad ones; else none of them count.

    Where people have labelled a session, their labels count instead.
    """
    if not good and not withdrawn:
        raise click.UsageError("say --good, such as --good '>=1'")
    item = {**given, "name": name, "good": good or "=withdrawn", "explanation": why, "withdrawn": withdrawn}
    _add(ScoreOutcome, [item], style, url)


def _add(kind: type[Label], items: Sequence[Mapping[str, Any]], style: str, url: str) -> None:
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.labels import labels_table

    with ApiClient(url) as client:
        rows = client.add_labels(kind.plural, items)
    show_rows(rows, labels_table(kind.plural), style)


def _score(text: str, *, withdrawn: bool) -> dict[str, Any]:
    dimension, _, value = text.partition("=")
    if dimension.upper() not in set(Dimension):
        raise click.UsageError(f"{dimension!r} is none of {' '.join(Dimension)}")
    if value == "" and withdrawn:
        value = "na"
    if value.lower() not in {"0", "1", "2", "3", "na"}:
        raise click.UsageError(f"{text!r}: a score is 0, 1, 2, 3 or na")
    return {
        "dimension": dimension.upper(),
        "score": None if value.lower() == "na" else int(value),
        "withdrawn": withdrawn,
    }


@click.command("delete")
@click.argument("ids", nargs=-1, metavar="[LABEL...]")
@click.option("--trace", metavar="ID", help="Of this trace, stored or not.")
@click.option("--run", metavar="ID", help="Of this agent run.")
@click.option("--session", metavar="ID", help="Of this session, stored or not.")
@click.option("--by", "annotator", metavar="NAME", help="Of this annotator.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@api_options
def delete_labels(*, ids: tuple[str, ...], yes: bool, style: str, url: str, **given: str | None) -> None:
    """Delete labels by their ids, or all of a trace, a session or an annotator, for good: with them goes their text.

    `labels withdraw` keeps what was said, as withdrawn.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.schemas.text.terminal import one_line

    named = {name: value for name, value in given.items() if value is not None}
    # What a script left empty would delete all that is of the rest.
    if not all(value.strip() for value in (*ids, *named.values())):
        raise click.UsageError("LABEL, --trace, --run, --session and --by must not be blank")
    if not ids and not named.keys() & {"trace", "session", "annotator"}:
        raise click.UsageError("name LABEL ids, --trace ID, --session ID or --by NAME")
    what = [*ids, *(f"{name} {value}" for name, value in named.items())]
    if not yes:
        click.confirm(f"Delete what was said: {one_line(', '.join(what), 200)}?", abort=True, err=True)
    with ApiClient(url) as client:
        deleted = sum(client.delete_labels(named | one) for one in ([{"id": label_id} for label_id in ids] or [{}]))
        if not deleted and named.keys() & {"trace", "session"}:
            _refuse_beginnings(client, named)
    if style == "json":
        output.show_json({"deleted": deleted})
    else:
        output.plain(f"{counted(deleted, 'label')} deleted")


def _refuse_beginnings(client: ApiClient, named: Mapping[str, str]) -> None:
    """Raises ConfigError where labels would be found, as export takes beginnings: a deletion takes whole ids alone."""
    exported = b"".join(client.export_labels({name: given for name, given in named.items() if name != "run"}))
    said = [json.loads(line) for line in exported.splitlines()[:1]]
    for given in (named[name] for name in ("trace", "session") if name in named and said):
        if not {given, an_id(given)} & {*said[0].values()}:
            raise ConfigError(f"no label is of {given}; of an id that begins so, some are: give the whole id")
