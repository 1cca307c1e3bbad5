"""The engine as a child process: started, watched, stored, restarted and ended; and what a node truly runs.

Nothing is imported here: :mod:`serving.process.keeper` is run as a program of its own.
"""

from __future__ import annotations
