# SPDX-License-Identifier: MIT
"""One module a table: ``measure(effort, progress)`` returns its :class:`common.Outcome`."""
