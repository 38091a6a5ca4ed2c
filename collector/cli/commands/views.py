"""`tracejury views`."""

from __future__ import annotations

from urllib.parse import urlsplit

import click

from tracejury.collector.cli.options import api_options, show_rows


@click.group("views")
def views_command() -> None:
    """Saved views: pages with their filters under names, which `--view` of traces, sessions and errors takes, too."""


@views_command.command("list")
@api_options
def list_views(*, style: str, url: str) -> None:
    """List saved views by name."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.saved_views import views_table

    with ApiClient(url) as client:
        rows = client.saved_views()
    show_rows(rows, views_table, style)


@views_command.command("save")
@click.argument("name")
@click.argument("link")
@api_options
def save(*, name: str, link: str, style: str, url: str) -> None:
    """Save LINK, the address of a page with its filters, under NAME, in place of what has that name."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.saved_views import views_table

    parts = urlsplit(link)
    with ApiClient(url) as client:
        row = client.save_view(name, parts._replace(scheme="", netloc="", fragment="").geturl())
    show_rows(row, lambda saved: views_table([saved]), style)


@views_command.command("delete")
@click.argument("name")
@api_options
def delete(*, name: str, style: str, url: str) -> None:
    """Delete the view of that NAME, for everybody."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.saved_views import views_table

    with ApiClient(url) as client:
        row = client.delete_view(name)
    show_rows(row, lambda gone: views_table([gone]), style)
