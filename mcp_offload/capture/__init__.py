"""Running one command with its output on disk from the first byte, and nothing left of it afterwards.

A small process of its own, the keeper, stands between us and the command. It reads both pipes into one
file, keeps the limits, and ends everything the command started: when told to, at a limit, and when we are
gone, however that came about.
"""

from __future__ import annotations
