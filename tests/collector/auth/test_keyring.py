"""Keys: what opens, what does not, and what a running collector makes of changes to their file."""

from __future__ import annotations

import gc
import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.auth.key import EVERYBODY, AccessKey, KeyScope, id_of, new_key, opens
from tracejury.collector.auth.key_file import VARIABLE, changing, keys_text, parse_keys, read_keys
from tracejury.collector.auth.keyring import LOOK_EVERY, MOST_FAILURES, SECOND, Keyring
from tracejury.collector.auth.tokens_sent import token_sent
from tracejury.schemas.errors import ConfigError, ForbiddenError, OverloadedError, UnauthorizedError

DAY = 86_400 * SECOND
NOW = 1_800_000_000 * SECOND


class Clock:
    """Unix nanos, and seconds, that a test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now

    def seconds(self) -> float:
        return self.now / SECOND


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def ring(path: Path | None, clock: Clock, environment: dict[str, str] | None = None) -> Keyring:
    return Keyring(path, environment or {}, clock, clock.seconds)


def put(path: Path, *scopes: KeyScope, project: str = "", expires: int = 0) -> tuple[AccessKey, str]:
    key, token = new_key("someone", project, scopes or (KeyScope.READ,), NOW, expires)
    with changing(path) as keys:
        keys.append(key)
    return key, token


def test_without_keys_everybody_may_do_everything(path: Path, clock: Clock) -> None:
    keyring = ring(path, clock)
    assert not keyring.asks
    assert keyring.check("", KeyScope.ADMIN, "1.2.3.4") is EVERYBODY


def test_a_key_opens_what_its_scopes_name(path: Path, clock: Clock) -> None:
    """Its project goes with it; admin allows all."""
    key, token = put(path, KeyScope.READ, project="acme")
    _, admin = put(path, KeyScope.ADMIN)
    keyring = ring(path, clock)
    assert keyring.check(token, KeyScope.READ, "") == key
    for scope in (KeyScope.INGEST, KeyScope.LABEL, KeyScope.ADMIN):
        with pytest.raises(ForbiddenError, match=f"it needs the scope {scope}"):
            keyring.check(token, scope, "")
        assert keyring.check(admin, scope, "").project == ""
    assert keyring.projects == {"", "acme"}


def wrong_tokens(token: str) -> list[str]:
    prefix, key_id, secret = token.split("_", 2)
    return [
        "", "x", "tj__", "tj", f"{prefix}_{key_id}_", f"{prefix}_{key_id}", f"{prefix}_{key_id}_{secret}x",
        f"{prefix}_{key_id}_{secret[:-1]}", f"{prefix}_{key_id}_{secret.swapcase()}", f"{prefix}_00000000_{secret}",
        token.upper(), f" {token}", f"{token}\n", f"{token}\x00", "é" * 40, "\ud800", "tj_" + "a" * 1_000_000,
    ]  # fmt: skip


def test_nothing_else_opens(path: Path, clock: Clock) -> None:
    """Not a key that is cut, longer, of another id, or no key at all; the reason names no key."""
    _, token = put(path)
    for number, wrong in enumerate(wrong_tokens(token)):
        with pytest.raises(UnauthorizedError) as refused:
            ring(path, clock).check(wrong, KeyScope.READ, f"10.0.0.{number}")
        assert len(wrong) < 9 or wrong not in str(refused.value)


@given(st.text(max_size=80))
def test_no_text_opens_a_key(text: str) -> None:
    key, token = new_key("n", "", [KeyScope.READ], NOW)
    assert opens(token, key)
    assert text == token or not opens(text, key)
    assert id_of(token) == key.id
    assert isinstance(id_of(text), str)


def test_a_key_ends_at_its_time(path: Path, clock: Clock) -> None:
    _, token = put(path, expires=NOW + DAY)
    keyring = ring(path, clock)
    clock.now = NOW + DAY - 1
    assert keyring.check(token, KeyScope.READ, "").name == "someone"
    clock.now = NOW + DAY
    with pytest.raises(UnauthorizedError):
        keyring.check(token, KeyScope.READ, "")


def test_changes_count_within_a_second(path: Path, clock: Clock) -> None:
    """New keys open, revoked ones do not; the file is looked at once a second at most."""
    _, first = put(path)
    keyring = ring(path, clock)
    second_key, second = put(path)
    with pytest.raises(UnauthorizedError):
        keyring.check(second, KeyScope.READ, "")
    clock.now += LOOK_EVERY
    assert keyring.check(second, KeyScope.READ, "") == second_key
    with changing(path) as keys:
        keys.remove(second_key)
    clock.now += LOOK_EVERY
    with pytest.raises(UnauthorizedError):
        keyring.check(second, KeyScope.READ, "")
    assert keyring.holds(second_key.id) is None
    keyring.check(first, KeyScope.READ, "")


def test_the_first_key_closes_a_collector_that_was_open(path: Path, clock: Clock) -> None:
    keyring = ring(path, clock)
    _, token = put(path)
    clock.now += LOOK_EVERY
    keyring.check(token, KeyScope.READ, "")
    with pytest.raises(UnauthorizedError, match="asks for a key"):
        keyring.check("", KeyScope.READ, "")


@pytest.mark.parametrize("left", [None, '{"keys": []}\n'], ids=["removed", "emptied"])
def test_no_change_of_the_file_opens_a_collector_again(path: Path, clock: Clock, left: str | None) -> None:
    _, token = put(path)
    keyring = ring(path, clock)
    path.unlink() if left is None else path.write_text(left)
    clock.now += LOOK_EVERY
    for wrong in ("", token):
        with pytest.raises(UnauthorizedError):
            keyring.check(wrong, KeyScope.READ, "")


def test_a_file_that_cannot_be_read_changes_nothing(path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    _, token = put(path)
    keyring = ring(path, clock)
    path.write_text("{")
    clock.now += LOOK_EVERY
    keyring.check(token, KeyScope.READ, "")
    assert "the keys stay as they were" in caplog.text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Invalid JSON"),
        ("[]", "top level"),
        ('{"keys": 1}', "keys"),
        ('{"keys": [{}]}', "keys.0.id"),
        ('{"key": []}', "keys"),
        ('{"keys": [], "more": 1}', "more"),
        ({"id": "XYZ"}, "keys.0.id"),
        ({"sha256": "abc"}, "keys.0.sha256"),
        ({"scopes": []}, "keys.0.scopes"),
        ({"scopes": ["root"]}, "keys.0.scopes.0"),
        ({"project": "../x"}, "keys.0.project"),
        ({"project": "A"}, "keys.0.project"),
        ({"expires": "5m"}, "keys.0.expires"),
        ({"expires": "2030-01-01T00:00:00"}, "keys.0.expires"),
        ({"created": None}, "keys.0.created"),
        ({"token": "tj_secret"}, "keys.0.token"),
    ],
)
def test_a_wrong_file_is_one_line_without_its_values(text: str | dict[str, object], told: str) -> None:
    key, _ = new_key("n", "", [KeyScope.READ], NOW)
    if isinstance(text, dict):
        row = json.loads(keys_text([key]))["keys"][0] | text
        text = json.dumps({"keys": [row]})
    with pytest.raises(ConfigError) as wrong:
        parse_keys(text, "keys.json")
    line = str(wrong.value)
    assert line.startswith("keys.json: ")
    assert told in line
    assert "\n" not in line
    assert "tj_secret" not in line
    assert key.digest.hex() not in line


def test_two_keys_of_one_id_are_refused() -> None:
    key, _ = new_key("n", "", [KeyScope.READ], NOW)
    with pytest.raises(ConfigError, match="two keys have one id"):
        parse_keys(keys_text([key, key]), "x")


def test_keys_come_back_as_they_were(path: Path) -> None:
    """The file is for its owner alone and holds no token; a key that ended before 1970 has ended."""
    first, token = put(path, KeyScope.INGEST, KeyScope.LABEL, project="a.b-c_1", expires=NOW + DAY)
    second, _ = put(path)
    assert list(read_keys(path)) == [first, second]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token.split("_", 2)[2] not in path.read_text()
    text = path.read_text().replace('"expires": null', '"expires": "1969-01-01T00:00:00Z"')
    assert not parse_keys(text, "x")[1].is_valid(NOW)


def test_the_environment_has_keys_too(path: Path, clock: Clock) -> None:
    """Beside those of the file; a wrong text is told at the start."""
    key, token = new_key("container", "acme", [KeyScope.READ], NOW)
    _, other = put(path)
    keyring = ring(path, clock, {VARIABLE: keys_text([key])})
    assert keyring.check(token, KeyScope.READ, "") == key
    keyring.check(other, KeyScope.READ, "")
    with pytest.raises(ConfigError, match=VARIABLE):
        ring(None, clock, {VARIABLE: "x"})


def test_guessing_is_slowed_and_named_once(path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """An address with many wrong keys is told to wait; right keys from there go on opening, and no key is logged."""
    key, token = put(path)
    wrong = f"tj_{key.id}_{'x' * 43}"
    keyring = ring(path, clock)
    for _ in range(MOST_FAILURES):
        with pytest.raises(UnauthorizedError):
            keyring.check(wrong, KeyScope.READ, "10.0.0.1")
    with pytest.raises(OverloadedError):
        keyring.check(wrong, KeyScope.READ, "10.0.0.1")
    with pytest.raises(UnauthorizedError):
        keyring.check(wrong, KeyScope.READ, "10.0.0.2")
    assert keyring.check(token, KeyScope.READ, "10.0.0.1") == key
    clock.now += 61 * SECOND
    with pytest.raises(UnauthorizedError):
        keyring.check(wrong, KeyScope.READ, "10.0.0.1")
    assert caplog.text.count("refused a request from") == 2
    assert key.id in caplog.text
    assert "xxx" not in caplog.text
    assert token not in caplog.text


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ([], ""),
        ([("authorization", "Bearer abc")], "abc"),
        ([("authorization", "bearer  abc ")], "abc"),
        ([("authorization", "Basic abc")], ""),
        ([("x-api-key", " abc")], "abc"),
        ([("authorization", "Basic abc"), ("x-api-key", "def")], "def"),
        ([("authorization", "Bearer abc"), ("x-api-key", "def")], "abc"),
        ([("x-api-key", b"abc")], "abc"),
        ([("x-other", "abc")], ""),
    ],
)
def test_where_a_token_is_sent(headers: list[tuple[str, str | bytes]], token: str) -> None:
    assert token_sent(headers) == token


def test_no_secret_is_held(path: Path, clock: Clock) -> None:
    """Neither in the file nor in memory, also after it has opened: what is compared are hashes."""
    key, token = put(path)
    keyring = ring(path, clock)
    assert keyring.check(token, KeyScope.READ, "") == key
    secret = token.split("_", 2)[2]
    seen, held = set[int](), list[object]([keyring])
    while held:
        one = held.pop()
        if id(one) in seen or isinstance(one, type):
            continue
        seen.add(id(one))
        assert secret not in (one if isinstance(one, str) else "")
        assert secret.encode() not in (one if isinstance(one, bytes) else b"")
        if isinstance(one, dict | list | tuple | frozenset | AccessKey | Keyring):
            held += gc.get_referents(one)
    assert len(key.digest) == 32
    assert secret not in path.read_text()
