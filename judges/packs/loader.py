"""Packs by name: the built-in ones and those of installed packages."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final

from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.formula import Formula
from tracejury.judges.checks.item_source import ItemSource
from tracejury.judges.llm.data_files import model_of, read_model
from tracejury.judges.writing.units import Writing
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.queries.measures import OwnFigures

from .pack_types import Configured, Labels, Pack, PackFile, PackSettings, sound_checks
from .sources import BUILT_IN as BUILT_IN_SOURCES
from .sources import POLICIES, sources_by_name

BUILT_IN: Final = ("pipa", "rut", "scope", "ted")
GROUP: Final = "tracejury.packs"
"""Entry point group: each entry is a package whose folder has pack.yaml and measures.py, under the pack's name."""
_PARTS: Final = ("sources", "settings")
"""Modules that a pack may have besides: SOURCES, and SCALES by name; `Settings`, and `configured(made, settings)`."""


def load_packs(
    names: Iterable[str],
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    judges: Collection[str] = (),
    offered: Iterable[EntryPoint] | None = None,
) -> tuple[Pack, ...]:
    """The packs of these names, in their order, as they are set. `judges`: names that no check may have.

    Raises:
        ConfigError: what is wrong in which file or key, in one line.
    """
    packages = _packages(offered)
    chosen = dict(settings or {})
    if unknown := [name for name in chosen if name not in packages]:
        raise ConfigError(f"judges.pack_settings: {_no_pack(unknown[0], packages)}")
    packs: list[Pack] = []
    brought: dict[str, str] = {}
    for name in dict.fromkeys(names):
        if name not in packages:
            raise ConfigError(f"judges.packs: {_no_pack(name, packages)}")
        read = _read(name, packages[name])
        for source in read.sources:
            if brought.setdefault(source, name) != name:
                raise ConfigError(f"judges.packs: {name} and {brought[source]} both bring the source {source!r}")
        pack = _configured(read, chosen.get(name, {}))
        for check in pack.checks:
            if check.name in judges:
                raise ConfigError(f"judges.packs: the check {check.name!r} of {name} is the name of a judge")
        packs.append(pack)
    return tuple(packs)


def known_packs(offered: Iterable[EntryPoint] | None = None) -> tuple[tuple[Pack, ...], tuple[tuple[str, str], ...]]:
    """All packs there are, as their files have them, and (name, one line why) for each that cannot be loaded."""
    packs: list[Pack] = []
    broken: list[tuple[str, str]] = []
    for name, package in _packages(offered).items():
        try:
            read = _read(name, package)
            packs.append(_pack(read, read.file.checks, read.formulas, PackSettings()))
        except ConfigError as error:
            broken.append((name, str(error)))
    return tuple(packs), tuple(broken)


@cache
def user_labels() -> Mapping[str, Labels]:
    """By check of exchanges, how their users behave; of all packs of the installation."""
    return {name: labels for pack in known_packs()[0] for name, labels in pack.labels.items()}


@cache
def progress_checks() -> Mapping[str, Check]:
    """By name, the checks whose items settle at their best answer; of all packs of the installation."""
    return {check.name: check for pack in known_packs()[0] for check in pack.checks if check.settles == "best"}


def pack_names(offered: Iterable[EntryPoint] | None = None) -> frozenset[str]:
    """The names of all packs there are, whether they can be loaded or not."""
    return frozenset(_packages(offered))


def settings_model(name: str) -> type[PackSettings]:
    """The model of a pack's settings; what all packs have in common where there is no such pack, or it is broken."""
    try:
        return _read(name, _packages(None)[name]).settings
    except (KeyError, ConfigError):
        return PackSettings


def load_writer(name: str) -> Callable[..., Writing[Any]]:
    """The writer of that name among `WRITERS` in the `writers.py` of built-in packs.

    Raises:
        KeyError: there is none.
    """
    modules = filter(find_spec, (f"{__package__}.{pack}.writers" for pack in BUILT_IN))
    writer: Callable[..., Writing[Any]] = ChainMap(*(import_module(module).WRITERS for module in modules))[name]
    return writer


def _packages(offered: Iterable[EntryPoint] | None) -> dict[str, str]:
    """Module names by the name of the pack; no package replaces a built-in pack."""
    entries = sorted(entry_points(group=GROUP) if offered is None else offered, key=lambda e: (e.name, e.value))
    return {e.name: e.module for e in entries} | {name: f"{__package__}.{name}" for name in BUILT_IN}


def _no_pack(name: str, packages: Iterable[str]) -> str:
    return f"there is no pack {name[:60]!r}: use {', '.join(sorted(packages))}"


@dataclass(frozen=True, slots=True)
class _PackCode:
    """A pack as its package has it. `sources`: names of those that it brings; `settings`: a model of its own.

    `configured`: what its settings make of its checks and formulas; `labels` and `figures`: as in `Pack`.
    """

    file: PackFile
    formulas: Mapping[str, Formula]
    labels: Mapping[str, Labels]
    figures: OwnFigures | None
    sources: frozenset[str]
    settings: type[PackSettings]
    configured: Callable[[Configured, Any], Configured]


def _configured(read: _PackCode, settings: Mapping[str, Any]) -> Pack:
    place = f"judges.pack_settings.{read.file.name}"
    chosen = model_of(settings, read.settings, place)
    try:
        made = read.configured(Configured(tuple(_set(c, chosen) for c in read.file.checks), read.formulas), chosen)
        sound_checks(made.checks)
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever code of a package raises, the user is told of the pack
        raise ConfigError(f"{place}: {_told(error)}") from None
    if odd := sorted({check.name for check in made.checks} ^ set(made.formulas)):
        raise ConfigError(f"{place}: {odd[0]!r} has no formula, or is no check")
    if unknown := {*chosen.checks} - {check.name for check in made.checks}:
        names = ", ".join(check.name for check in made.checks)
        raise ConfigError(f"{place}.checks: there is no check {min(unknown)[:60]!r}: use {names}")
    asked = tuple(check for check in made.checks if check.name in (chosen.checks or {check.name}))
    for check in asked:
        if left_out := [name for name in check.of if name not in {one.name for one in asked}]:
            raise ConfigError(f"{place}.checks: {check.name} is a measure of {left_out[0]}: name it, too")
    early = dict.fromkeys((check.name for check in asked if chosen.early_stop and check.runs > 1), "early stop")
    notes = {c.name: " ".join(told[c.name] for told in (made.notes, early) if c.name in told) for c in asked}
    return _pack(read, asked, made.formulas, chosen, notes)


def _set(check: Check, settings: PackSettings) -> Check:
    """The check as the settings of any pack have it."""
    changes: dict[str, Any] = {}
    if settings.runs is not None and check.asks:
        changes["runs"] = settings.runs
    if settings.policies_at == "exchange" and check.subject == "session" and check.items is POLICIES:
        changes["settles"] = "worst"
    return check.model_copy(update=changes)


def _pack(
    read: _PackCode,
    checks: tuple[Check, ...],
    formulas: Mapping[str, Formula],
    settings: PackSettings,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> Pack:
    file = read.file
    texts = (file.version, file.name, file.title, file.description, file.definitions)
    return Pack(*texts, checks, formulas, settings, file.success, read.labels, read.figures, notes)


def _unchanged(made: Configured, _: PackSettings) -> Configured:
    """The checks of a pack without settings of its own."""
    return made


@cache
def _read(name: str, package: str) -> _PackCode:
    try:
        folder = resources.files(package)
        measures = import_module(f"{package}.measures")
        formulas = measures.FORMULAS
        labels, figures = getattr(measures, "LABELS", {}), getattr(measures, "FIGURES", None)
        own = {part: import_module(f"{package}.{part}") for part in _PARTS if find_spec(f"{package}.{part}")}
        sources: tuple[ItemSource, ...] = own["sources"].SOURCES if "sources" in own else ()
        scales: Mapping[str, Any] = getattr(own.get("sources"), "SCALES", {})
        settings = own.get("settings")
        model, configured = (settings.Settings, settings.configured) if settings else (PackSettings, _unchanged)
    except Exception as error:  # noqa: BLE001 - whatever code of a package raises, the user is told of the pack
        raise ConfigError(f"judges.packs: the pack {name} cannot be loaded: {_told(error)}") from None
    if taken := sorted({source.name for source in sources} & {source.name for source in BUILT_IN_SOURCES}):
        raise ConfigError(f"judges.packs: the pack {name} brings a source {taken[0]!r}, which there is already")
    file = read_model(folder / "pack.yaml", PackFile, {"sources": sources_by_name(sources), "scales": scales})
    if file.name != name:
        raise ConfigError(f"{folder / 'pack.yaml'}: name: must be {name!r}, as the pack is offered under it")
    if "-" in name:
        raise ConfigError(f"{folder / 'pack.yaml'}: name: {name!r} must have no hyphen: what follows one is a check's")
    names = {check.name for check in file.checks}
    if foreign := sorted(check for check in names if not check.startswith(f"{name}-")):
        raise ConfigError(f"{folder / 'pack.yaml'}: checks: {foreign[0]!r} must begin with {f'{name}-'!r}")
    if odd := sorted(names ^ set(formulas)):
        why = "has no formula" if odd[0] in names else "is no check of pack.yaml"
        raise ConfigError(f"{folder / 'measures.py'}: FORMULAS: {odd[0]!r} {why}")
    if odd := sorted(set(labels) - {check.name for check in file.checks if check.subject == "exchange"}):
        raise ConfigError(f"{folder / 'measures.py'}: LABELS: {odd[0]!r} is no check of exchanges of pack.yaml")
    return _PackCode(file, formulas, labels, figures, frozenset(source.name for source in sources), model, configured)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
