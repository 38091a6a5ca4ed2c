"""`tracejury talk`: simulated users speak to an agent."""

from __future__ import annotations

import importlib
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from tracejury.collector.cli.failures import EXIT_ERROR
from tracejury.collector.cli.interrupts import heed_ctrl_c
from tracejury.collector.cli.model_options import cassette_options, judges_section, recording_options
from tracejury.collector.cli.options import api_options
from tracejury.schemas.errors import ConfigError, TracejuryError
from tracejury.schemas.text.counting import counted

if TYPE_CHECKING:
    from tracejury.collector.simulation.player import PlayedSession
    from tracejury.collector.simulation.simulated_session import SimulatedSession
    from tracejury.schemas.behaviours import Behaviour

ALL: Final = "all"
BOTH: Final = "both"
SUBCOMMANDS: Final = {
    "draft": ("talk_writing", "Have a model write what ideal users say."),
    "rewrite": ("talk_writing", "Have a model write what six difficult users say."),
    "import": ("talk_import", "Make cards with grading notes of a benchmark's tasks, or of oracles."),
}
"""The module of each, which holds it as `<name>_command`, and its help."""


class _Talk(click.Command):
    """A command of its own unless its first word is a subcommand: a file of that name is written as ./NAME."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        if args[:1] and args[0] in SUBCOMMANDS:
            module = importlib.import_module(f".{SUBCOMMANDS[args[0]][0]}", __package__)
            command: click.Command = getattr(module, f"{args[0]}_command")
            return command.make_context(f"{info_name} {args[0]}", args[1:], *rest, **extra)
        return super().make_context(info_name, args, *rest, **extra)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in SUBCOMMANDS.items()])


@click.command("talk", cls=_Talk)
@click.argument("cards", nargs=-1, required=True, metavar="CARDS...")
@click.option(
    "--agent", required=True, metavar="URL|module:function",
    help="A chat endpoint, or an instrumented callable of this Python.",
)  # fmt: skip
@click.option(
    "--behaviour", "behaviours", multiple=True, default=(ALL,), metavar="NAME|all", help="Users (repeatable)."
)
@click.option(
    "--persona", type=click.Choice(["expert", "non-expert", BOTH]), default=None,
    help="Users by a model instead, by the instruction of each card.",
)  # fmt: skip
@click.option("--user-model", default="", metavar="M", help="Writes the users with a persona (litellm: provider/name).")
@click.option(
    "--config", "config_file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A configuration file, for its section judges: key and budget of the user's model.",
)  # fmt: skip
@click.option("--trials", type=click.IntRange(1, 1000), default=1, show_default=True, help="Sessions of each user.")
@click.option("--model", default="", metavar="NAME", help="The model that the endpoint is asked for.")
@click.option("--key-env", default="", metavar="VARIABLE", help="The environment variable with the endpoint's key.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=120.0, show_default=True, metavar="SECONDS",
    help="For each answer.",
)  # fmt: skip
@click.option("--at-once", type=click.IntRange(1, 100), default=1, show_default=True, help="Sessions side by side.")
@click.option(
    "--endpoint", default="http://127.0.0.1:4317", show_default=True, envvar="OTEL_EXPORTER_OTLP_ENDPOINT",
    metavar="URL", help="Where spans go, OTLP over gRPC.",
)  # fmt: skip
@click.option(
    "--service", default="tracejury-talk", show_default=True, envvar="OTEL_SERVICE_NAME", metavar="NAME",
    help="The service whose sessions they are.",
)  # fmt: skip
@recording_options
@api_options
@click.pass_context
def talk_command(
    ctx: click.Context,
    /,
    *,
    cards: tuple[str, ...],
    agent: str,
    behaviours: tuple[str, ...],
    persona: str | None,
    user_model: str,
    config_file: Path | None,
    trials: int,
    model: str,
    key_env: str,
    timeout: float,
    at_once: int,
    endpoint: str,
    service: str,
    style: str,
    url: str,
    **recording: Any,
) -> None:
    """Simulated users speak to an agent, turn by turn, as task CARDS (files and folders) say.

    A callable is imported into this Python, so its packages must be installed there, and it must be instrumented (its
    module sets up OpenTelemetry, or uses instrumented clients). An agent elsewhere, of another environment or
    language, is talked to by its URL: POST URL/chat/completions, as of OpenAI's API.

    Users say what their cards hold (`user_turns`), as each --behaviour; with --persona a model says what the card's
    instruction leads to, one call a message.

    Each exchange is a trace; `traceparent` and baggage go with the request, so that the agent's spans join it. Ends
    with 1 if a session failed: no answer, no spans of the agent, or a user whose model failed.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.talk import talk_summary
    from tracejury.collector.judging.model.cassette import CassetteOptions
    from tracejury.collector.judging.model.config import LlmConfig
    from tracejury.collector.simulation.talk import TalkSettings, agent_at, talk

    cassette = cassette_options(recording)
    if persona is None:
        if user_model or config_file or cassette != CassetteOptions():
            raise ConfigError("--user-model, --config and --cassette are for users with a --persona")
        sessions, writing = _sessions(cards, behaviours, trials), LlmConfig()
    else:
        if ctx.get_parameter_source("behaviours") is not ParameterSource.DEFAULT:
            raise ConfigError("--persona and --behaviour: a user has one of them")
        sessions = _persona_sessions(cards, persona, trials, user_model)
        # Spans of the user's model would be judged as an agent's where they go to the same collector.
        writing = judges_section({}, config_file, model=user_model, telemetry_endpoint="")
    talked_to = agent_at(agent, model, _key(key_env))
    settings = TalkSettings(endpoint, service, timeout, at_once, writing, cassette)
    played: list[PlayedSession] = []
    with output.progress() as bar:
        task = bar.add_task("sessions", total=len(sessions))

        def on_played(one: PlayedSession) -> None:
            played.append(one)
            bar.advance(task)

        heed_ctrl_c()
        interrupted = talk(sessions, talked_to, settings, on_played)
    if interrupted:
        output.note(f"interrupted: {counted(len(sessions) - len(played), 'session')} not begun")
    else:
        played = _with_arrival(played, url)
    output.show_report(style, played, lambda all_played: list(map(asdict, all_played)), talk_summary)
    if interrupted or any(one.failure for one in played):
        ctx.exit(EXIT_ERROR)


def _sessions(paths: tuple[str, ...], names: tuple[str, ...], trials: int) -> list[SimulatedSession]:
    """What is to be played. Raises ConfigError: nothing, or there is no such behaviour."""
    from tracejury.collector.cli import output
    from tracejury.collector.simulation.simulated_session import sessions_of
    from tracejury.judges.packs.cards.task_cards import load_cards
    from tracejury.schemas.behaviours import Behaviour

    wanted = list(Behaviour) if ALL in names else [_behaviour(name) for name in names]
    cards = load_cards(paths)
    sessions = sessions_of(cards.values(), wanted, trials)
    if not sessions:
        raise ConfigError(
            f"no card has `user_turns` of {', '.join(names)} users: docs/rut.md shows how they are written"
        )
    without = [card.id for card in cards.values() if not card.user_turns.keys() & set(wanted)]
    if without:
        output.note(
            f"{counted(len(without), 'card')} without such `user_turns` left out, {without[0][:60]!r} the first"
        )
    return sessions


def _persona_sessions(paths: tuple[str, ...], persona: str, trials: int, user_model: str) -> list[SimulatedSession]:
    """What is to be played by users with a persona. Raises ConfigError: no model, or a card without instruction."""
    from tracejury.collector.simulation.simulated_session import persona_sessions
    from tracejury.judges.packs.cards.task_cards import load_cards
    from tracejury.schemas.behaviours import Persona

    if not user_model:
        raise ConfigError("--persona needs a --user-model, which writes what the user says")
    cards = load_cards(paths)
    if not cards:
        raise ConfigError(f"there is no card in {', '.join(paths)}: docs/simulated-users.md shows how one is written")
    if without := [name for name, card in cards.items() if not card.instruction.strip()]:
        raise ConfigError(f"--persona: the card {without[0][:60]!r} has no `instruction`, by which a user talks")
    personas = list(Persona) if persona == BOTH else [Persona(persona)]
    return persona_sessions(cards.values(), personas, trials, user_model)


def _behaviour(name: str) -> Behaviour:
    from tracejury.schemas.behaviours import Behaviour

    try:
        return Behaviour(name)
    except ValueError:
        raise ConfigError(f"--behaviour: no behaviour {name[:60]!r}: {ALL}, {', '.join(Behaviour)}") from None


def _key(variable: str) -> str:
    if variable and not os.environ.get(variable):
        raise ConfigError(f"--key-env: the variable {variable} of the environment is not set")
    return os.environ.get(variable, "") if variable else ""


def _with_arrival(played: list[PlayedSession], url: str) -> list[PlayedSession]:
    """The sessions, those without spans of the agent as failed."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.simulation.arrival import with_arrival

    try:
        with ApiClient(url) as client:
            return with_arrival(client, played)
    except TracejuryError as error:
        output.note(f"not checked whether the agent's spans arrived: {error}")
    except KeyboardInterrupt:
        output.note("interrupted: not checked whether the agent's spans arrived")
    return played
