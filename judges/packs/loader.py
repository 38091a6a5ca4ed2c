"""Packs by name: the built-in ones and those of installed packages."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from importlib import import_module, resources
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, Final

from tracejury.judges.checks.formula import Formula
from tracejury.judges.llm.data_files import model_of, read_model
from tracejury.judges.writing.units import Writing
from tracejury.schemas.errors import ConfigError

from .pack_types import Pack, PackFile

BUILT_IN: Final = ("pipa", "rut")
GROUP: Final = "tracejury.packs"
"""Entry point group: each entry is a package whose folder has pack.yaml and measures.py, under the pack's name."""


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
    for name in dict.fromkeys(names):
        if name not in packages:
            raise ConfigError(f"judges.packs: {_no_pack(name, packages)}")
        pack = _configured(name, packages[name], chosen.get(name, {}))
        for check in pack.checks:
            if check.name in judges:
                raise ConfigError(f"judges.packs: the check {check.name!r} of {name} is the name of a judge")
        packs.append(pack)
    return tuple(packs)


def known_packs(offered: Iterable[EntryPoint] | None = None) -> tuple[tuple[Pack, ...], tuple[tuple[str, str], ...]]:
    """All packs there are, with default settings, and (name, one line why) for each that cannot be loaded."""
    packs: list[Pack] = []
    broken: list[tuple[str, str]] = []
    for name, package in _packages(offered).items():
        try:
            packs.append(_configured(name, package, {}))
        except ConfigError as error:
            broken.append((name, str(error)))
    return tuple(packs), tuple(broken)


def pack_names(offered: Iterable[EntryPoint] | None = None) -> frozenset[str]:
    """The names of all packs there are, whether they can be loaded or not."""
    return frozenset(_packages(offered))


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


def _configured(name: str, package: str, settings: Mapping[str, Any]) -> Pack:
    file, formulas = _read(name, package)
    chosen = model_of(settings, file.settings_model(), f"judges.pack_settings.{name}")
    checks = file.chosen({setting: getattr(chosen, setting) for setting in file.variants})
    if unknown := {*chosen.checks} - {check.name for check in checks}:
        names = ", ".join(check.name for check in checks)
        raise ConfigError(f"judges.pack_settings.{name}.checks: there is no check {min(unknown)[:60]!r}: use {names}")
    return Pack(
        file.version,
        file.name,
        file.title,
        file.description,
        file.definitions,
        tuple(check for check in checks if check.name in (chosen.checks or {check.name})),
        formulas,
        chosen,
    )


@cache
def _read(name: str, package: str) -> tuple[PackFile, Mapping[str, Formula]]:
    try:
        folder = resources.files(package)
        formulas = import_module(f"{package}.measures").FORMULAS
    except Exception as error:  # noqa: BLE001 - whatever code of a package raises, the user is told of the pack
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
        raise ConfigError(f"judges.packs: the pack {name} cannot be loaded: {why}") from None
    file = read_model(folder / "pack.yaml", PackFile)
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
    return file, formulas
