"""`tracejury session ID`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import api_options, profile_option, show_rows


@click.command("session")
@click.argument("session_id", metavar="ID")
@click.option("--service", default="", help="Only of this service, where several have a session of that id.")
@profile_option
@api_options
def session_command(*, session_id: str, service: str, profile: str, style: str, url: str) -> None:
    """Show one session: what users said and agents answered, with errors at their place."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.lists import session_view

    with ApiClient(url) as client:
        session = client.session(session_id, service=service, profile=profile)
    show_rows(session, session_view, style)
