"""`tracejury explain`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import api_options, show_rows


@click.command("explain")
@click.argument("term", nargs=-1)
@click.option("--service", default="", help="Also the record and the settings of a detector there.")
@api_options
def explain_command(*, term: tuple[str, ...], service: str, style: str, url: str) -> None:
    """Say what a judge, detector, dimension, category or figure means; without TERM: list all of them.

    With --service: also whether the configuration switches a detector off or lowers it on that service, and how labels
    have moved its confidence there.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.explain import term_text, terms_table
    from tracejury.collector.queries.explain.glossary import explain, glossary
    from tracejury.schemas.wire.explain import TermJson

    if service and not term:
        raise click.UsageError("--service needs the name of a detector")
    if term:
        name = " ".join(term)
        if service:
            from tracejury.collector.api.client import ApiClient

            with ApiClient(url) as client:
                found = client.explain(name, service)
        else:
            found = TermJson.model_validate(explain(name))
        show_rows(found, term_text, style)
    else:
        terms = glossary().values()
        output.show_report(style, terms, lambda every: list(map(TermJson.model_validate, every)), terms_table)
