"""Signed-in browsers: a cookie that names keys, signed and dated, and never holds a token."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from itsdangerous import BadSignature, URLSafeTimedSerializer

COOKIE: Final = "tracejury_session"
LASTS: Final = 12 * 3600
"""Seconds for which a browser stays signed in, unless its key is revoked or expires before."""

MOST: Final = 20
"""Keys, each of a project, that one browser can change between."""


class SignIns:
    """Makes and reads such cookies; `secret`: of the installation, so that they outlive a restart."""

    def __init__(self, secret: bytes) -> None:
        hmac_sha256 = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        self._serializer = URLSafeTimedSerializer(secret, salt="tracejury sign-in", signer_kwargs=hmac_sha256)

    def value(self, key_ids: Sequence[str]) -> str:
        """The value of the cookie for keys, the current one first."""
        return str(self._serializer.dumps(list(key_ids[:MOST])))

    def key_ids(self, value: str) -> Sequence[str]:
        """The ids of the keys, the current one first; none where the value is forged, too old or not ours."""
        try:
            found = self._serializer.loads(value, max_age=LASTS) if value else []
        except BadSignature:
            return ()
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else ()
