# SPDX-License-Identifier: MIT
"""``python -m locklab`` is the command ``locklab``."""

import sys

from locklab.cli import main

sys.exit(main())
