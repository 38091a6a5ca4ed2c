"""The option `--view` of lists: the filters of a saved view."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from .options import Decorator

if TYPE_CHECKING:
    from tracejury.collector.api.client import ApiClient

view_option: Final[Decorator] = click.option(
    "--view", default="", metavar="NAME", help="With the filters of this saved view; options beside it replace them."
)

_OTHER_NAMES: Final = {"q": "text", "range": "since", "from": "since", "to": "until"}
"""Parameters of pages that are called otherwise in the API."""


def with_view(
    client: ApiClient, name: str, page: str, options: dict[str, Any], known: Collection[str] = ()
) -> tuple[dict[str, str | Sequence[str]], dict[str, Any]]:
    """The API's parameters of a view, and the options that were given beside it. Without a name: none, and all options.

    `page`: of the list that is asked; `known`: parameters that the list has beside its options.

    Raises:
        NotFoundError: there is no such view.
        UsageError: it is of another page, or has a parameter that the command has not.
    """
    if not name:
        return {}, options
    view = client.saved_view(name)
    if view.page != page:
        raise click.UsageError(f"the view {view.name!r} is of the page {view.page}, not of {page}: {view.link}")
    context = click.get_current_context()
    beside = {
        option: value
        for option, value in options.items()
        if context.get_parameter_source(option) is not ParameterSource.DEFAULT
    }
    saved: dict[str, str | Sequence[str]] = {}
    for parameter, value in view.parameters:
        target = _OTHER_NAMES.get(parameter, parameter)
        if target not in options and target not in known:
            raise click.UsageError(f"the view {view.name!r} has {parameter}={value}, which this command cannot ask for")
        many = isinstance(options.get(target), tuple)
        saved[target] = (*saved.get(target, ()), value) if many else value
    return {target: value for target, value in saved.items() if target not in beside}, beside
