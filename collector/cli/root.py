"""The `tracejury` command: the table of subcommands, and errors as one clear line."""

from __future__ import annotations

import importlib
import io
import os
import sys
import warnings
from typing import Any, Final

import click

from tracejury import __version__

from .failures import EXIT_INTERRUPTED, Failure, as_failure

COMMANDS: Final = {
    "serve": "Receive, store and judge traces.",
    "demo": "See it at work on a small agent program of ours.",
    "errors": "List errors: what went wrong, at which span.",
    "error": "Show one error with its findings.",
    "patterns": "List what keeps going wrong, how often and since when.",
    "pattern": "Show one pattern of errors, with examples.",
    "compare": "Show where traces part, or failing runs from passing ones.",
    "graph": "Show who calls whom: agents, tools, failures.",
    "regressions": "Issue steps that went wrong again: does it hold?",
    "performance": "Show latency percentiles, tokens, cost and failures.",
    "rates": "Show error rates with intervals, and whether they changed.",
    "clusters": "Put alike errors together, and name their types.",
    "fixes": "Write texts for an agent from types of errors.",
    "measures": "Show the measures that packs give sessions.",
    "traces": "List stored traces.",
    "trace": "Show one trace: agent runs, turns, errors at their spans.",
    "sessions": "List sessions: traces of one conversation.",
    "session": "Show one session: what was said, with errors at their place.",
    "alerts": "List alert rules and what they told; try channels.",
    "mcp": "Answer a coding agent's questions over MCP.",
    "hook": "Tell a coding agent at its end what can still be mended.",
    "views": "Save lists with their filters under names.",
    "keys": "Make, list, rotate and revoke keys.",
    "doctor": "Say what traces lack, and what mends it.",
    "judge": "Judge stored traces again.",
    "delete": "Delete traces: one, a session's, a user's, or old ones.",
    "receipts": "List what deletions have removed.",
    "redact": "Try rules of redaction on stored traces.",
    "ledger": "Show what LLM judges did, or why not, and its cost.",
    "labels": "Label findings, runs and sessions; what to label next.",
    "scores": "List scores that users and evaluators gave; add some.",
    "architecture": "Show or edit what LLM judges are told about a service.",
    "explain": "Say what a judge, detector, category or figure means.",
    "judges": "Show LLM judges and their criteria; compare versions.",
    "export": "Write findings, errors or runs to a file, for a data set.",
    "talk": "Let simulated users speak to an agent.",
    "situations": "Write simulated sessions of 26 situations, to test judges.",
    "rubrics": "Learn rubrics from sessions that people labelled.",
    "replay": "Send stored traces over OTLP.",
    "backfill": "Send traces of the ClickHouse exporter, to be judged.",
    "evaluate": "Measure agreement with human annotations.",
    "validate": "Check a configuration file.",
    "migrate": "Bring a store's tables up to date.",
    "store": "Back up, restore, check and repair the store.",
}
"""Each subcommand with its help; module `commands/<name>.py` holds it as `<name>_command`."""


PROJECT: Final = "TRACEJURY_PROJECT"


class Root(click.Group):
    """A group that knows its commands by name and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """The names, in the order a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import the command of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".commands.{cmd_name}", __package__)
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        """Write the table without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the options before the command; a wrong one is one line too."""
        try:
            return super().make_context(*args, **extra)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise as_failure(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run, and turn what is raised into one line and an exit code (with --debug: a traceback)."""
        try:
            return super().invoke(ctx)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise as_failure(error) from None
        except click.FileError as error:
            raise Failure(error.format_message()) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            raise as_failure(error, ctx.invoked_subcommand) from error


ABOUT: Final = """An OpenTelemetry collector that judges AI agents: every error named by its span, with its evidence.

\b
tracejury demo              see it at work
tracejury serve             start a collector, then point your agent at it:
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 (gRPC) or :4318 (HTTP)
tracejury errors --follow   watch what goes wrong
"""


@click.group(cls=Root, help=ABOUT, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--debug", is_flag=True, envvar="TRACEJURY_DEBUG", help="Show a traceback on errors.")
@click.option("--project", default="", envvar=PROJECT, help="Ask with the key in TRACEJURY_KEY_<PROJECT>.")
@click.version_option(__version__, prog_name="tracejury")
def root(*, debug: bool, project: str) -> None:  # noqa: ARG001  Root reads it
    """Hold the subcommands."""
    # Python warns of odd code and literals that agents wrote, with their characters as they are, on stderr.
    warnings.filterwarnings("ignore", module=r"<unknown>\Z")
    if project:  # for the client of the API, which most commands do not make
        os.environ[PROJECT] = project


def main() -> None:
    """The entry point of the console script."""
    if sys.stdout is None:  # closed by whoever started this
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  as long as the process
    elif isinstance(sys.stdout, io.TextIOWrapper):  # one of an encoding that lacks bars and quotes prints "?" for them
        sys.stdout.reconfigure(errors="replace")
    root(prog_name="tracejury")
