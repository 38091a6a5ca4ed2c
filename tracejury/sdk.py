"""The part of tracejury for an agent's own process: see docs/sdk.md.

A module here and a package of the same name in the distribution tracejury-sdk: no file is owned by both, and where
both are installed Python prefers the package.
"""

from ._sdk import *  # noqa: F403 - its names are its `__all__`
from ._sdk import __all__  # noqa: F401 - so that `import *` of this module gives the same
