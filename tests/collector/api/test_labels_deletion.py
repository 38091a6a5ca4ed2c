"""`/api/labels/delete` and `tracejury labels delete`, over memory."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from label_items import agree, post
from served_api import KNOWN, PLAIN, Api

from tracejury.collector.api.client import ApiClient
from tracejury.collector.cli.root import root
from tracejury.schemas.errors import ConfigError


def test_labels_are_deleted_for_good(labelled: Api) -> None:
    """One by its id, or all of a name; whoever names nothing deletes nothing."""
    (item,) = post(labelled, "/api/annotations", agree())["items"]
    post(labelled, "/api/human-scores", {"annotator": "ann", "trace_id": KNOWN, "dimension": "GF", "score": 1})
    with ApiClient(labelled.url) as client:
        assert client.delete_labels({"id": item["id"]}) == 1
        assert client.delete_labels({"annotator": "bob"}) == 0
        assert client.delete_labels({"trace": KNOWN.upper(), "annotator": "ann"}) == 1
        with pytest.raises(ConfigError, match="name an id, a trace, a session or an annotator"):
            client.delete_labels({"run": "run-1"})
    assert labelled.client.get("/api/labels/export").text == ""


@pytest.mark.parametrize("blank", ["", " \t"])
@pytest.mark.parametrize("name", ["id", "trace", "run", "session", "annotator"])
def test_a_blank_names_nothing_to_delete(labelled: Api, name: str, blank: str) -> None:
    """It is refused: taken for nothing given, it would delete all that is of the rest."""
    post(labelled, "/api/annotations", agree())
    named = {"annotator": "ann", "trace": KNOWN} | {name: blank}
    with ApiClient(labelled.url) as client, pytest.raises(ConfigError, match=f"{name} must not be blank"):
        client.delete_labels(named)
    assert labelled.get("/api/annotations")["items"]


@pytest.mark.parametrize(
    "blank",
    [("", "--by", "ann"), ("some", " ", "--by", "ann")]
    + [("--by", "ann", "--trace", KNOWN, option, "") for option in ("--trace", "--run", "--session", "--by")],
)
def test_a_command_with_a_blank_deletes_nothing(labelled: Api, blank: tuple[str, ...]) -> None:
    """A script's empty variable is told in one line."""
    post(labelled, "/api/annotations", agree())
    result = CliRunner().invoke(root, ["labels", "delete", *blank, "--yes", "--url", labelled.url])
    assert result.exit_code == 2
    assert "LABEL, --trace, --run, --session and --by must not be blank" in result.stderr
    assert labelled.get("/api/annotations")["items"]


def test_a_command_deletes_what_it_names(labelled: Api) -> None:
    """Of an annotator in a trace, and by id."""
    (item,) = post(labelled, "/api/annotations", agree())["items"]
    for named in ([item["id"], "--by", "bob"], ["--by", "ann", "--trace", PLAIN]):
        result = CliRunner().invoke(root, ["labels", "delete", *named, "--yes", "--url", labelled.url])
        assert result.stdout == "0 labels deleted\n"
    result = CliRunner().invoke(root, ["labels", "delete", item["id"], "--by", "ann", "--yes", "--url", labelled.url])
    assert result.stdout == "1 label deleted\n"
