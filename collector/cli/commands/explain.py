"""`tracejury explain`."""

from __future__ import annotations

import click

from ..options import format_option


@click.command("explain")
@click.argument("term", nargs=-1)
@format_option
def explain_command(*, term: tuple[str, ...], style: str) -> None:
    """Say what a judge, detector, dimension, category or figure means; without TERM: list all of them."""
    from ....schemas.wire.explain import TermJson
    from ...queries.explain.glossary import explain, glossary
    from .. import output
    from ..render.explain import term_text, terms_table

    if term:
        found = explain(" ".join(term))
        if style == "json":
            output.show_json(TermJson.model_validate(found))
        else:
            output.show(term_text(found))
    elif style == "json":
        output.show_json([TermJson.model_validate(one) for one in glossary().values()])
    else:
        output.show(terms_table(glossary().values()))
