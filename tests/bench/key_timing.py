"""Whether the time that a key check takes tells anything: `python tests/bench/key_timing.py [--rounds 20000]`.

Pairs of wrong keys that differ in what an attacker would like to know are checked in random order, interleaved. Of
each pair the difference of the medians is compared with those of 2,000 permutations of its times. Fails where fewer
than 1 in 1,000 of these are as large, twice in a row: by chance once in a million runs. Whether an id is known may show
by the time of its look-up (10 ns), as ids are no secret: they stand in the log and in cookies.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tracejury.collector.auth.key import KeyScope, new_key
from tracejury.collector.auth.key_file import changing
from tracejury.collector.auth.keyring import Keyring

PERMUTATIONS = 2_000
UNLIKELY = 0.001
SECRET = 43
LOOKING_UP = 50.0
"""Nanoseconds by which a known id may differ from an unknown one."""
KEYS = 200


def pairs(path: Path) -> tuple[Keyring, dict[str, tuple[list[str], list[str]]]]:
    """A keyring, and by what is to be told apart: wrong tokens of two kinds."""
    tokens = []
    with changing(path) as held:
        for number in range(KEYS):
            key, token = new_key(f"key {number}", "", [KeyScope.READ], 1, 2 if number % 4 == 3 else 0)
            held.append(key)
            tokens.append(token)
    valid, expired = [t for n, t in enumerate(tokens) if n % 4 != 3], tokens[3::4]
    revoked = [new_key("gone", "", [KeyScope.READ], 1)[1] for _ in range(KEYS)]
    heads = [token[:-SECRET] for token in valid]
    late = [token[:-1] + ("A" if token[-1] != "A" else "B") for token in valid]
    early = [
        head + ("A" if token[-SECRET] != "A" else "B") + token[-SECRET + 1 :]
        for head, token in zip(heads, valid, strict=True)
    ]
    unknown = [f"tj_{n:08x}_" + token[-SECRET:] for n, token in enumerate(valid)]
    return Keyring(path, {}), {
        "wrong in the last character, or in the first": (late, early),
        "wrong secret of a known id, or of an unknown one": (late, unknown),
        "a revoked key, or an unknown one": (revoked, unknown),
        "an expired key's id with a wrong secret, or an unknown one": ([t[:-1] + "_" for t in expired], unknown),
    }


def differ(
    keyring: Keyring, kinds: tuple[list[str], list[str]], rounds: int, chance: random.Random, allowed: float
) -> bool:
    """Whether the medians of the two kinds differ by more than chance, and than `allowed` nanoseconds."""
    order = [kind for kind in (0, 1) for _ in range(rounds)]
    chance.shuffle(order)
    times = np.empty(len(order))
    for place, kind in enumerate(order):
        token = chance.choice(kinds[kind])
        began = time.perf_counter_ns()
        keyring.valid(token)
        times[place] = time.perf_counter_ns() - began
    is_second = np.array(order, dtype=bool)
    seen = float(np.median(times[is_second]) - np.median(times[~is_second]))
    shuffling = np.random.default_rng(chance.randrange(2**32))
    larger = 0
    for _ in range(PERMUTATIONS):
        shuffling.shuffle(is_second)
        larger += abs(np.median(times[is_second]) - np.median(times[~is_second])) >= abs(seen)
    print(f"  difference of medians {seen:+.0f} ns of {np.median(times):.0f} ns, p = {larger / PERMUTATIONS:.4f}")
    return larger / PERMUTATIONS < UNLIKELY and abs(seen) > allowed


def main() -> None:
    """Compare all pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance, told = random.Random(options.seed), False  # noqa: S311  an order that can be had again
    with tempfile.TemporaryDirectory() as folder:
        keyring, kinds = pairs(Path(folder) / "keys.json")
        for name, two in kinds.items():
            print(f"{name}:")
            allowed = LOOKING_UP if " id" in name else 0.0
            told |= all(differ(keyring, two, options.rounds, chance, allowed) for _ in range(2))
    print("FAILED: the time tells the two apart" if told else "the time tells nothing")
    sys.exit(told)


if __name__ == "__main__":
    main()
