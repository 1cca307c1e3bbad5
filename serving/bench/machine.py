"""What a measurement ran on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from serving import __version__

_GPU_FIELDS: Final = ("name", "memory.total", "driver_version", "pci.bus_id", "clocks.max.sm", "power.limit")
_ASK_SECONDS: Final = 20.0


def machine() -> dict[str, Any]:
    """CPU, memory and GPUs, as far as the system tells."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpus": _gpus(),
        "load": round(os.getloadavg()[0], 2),
    }


def versions(engine: dict[str, str]) -> dict[str, str]:
    """Of this package, beside what the engine's interpreter tells of itself."""
    return {"mcp-offload": __version__, **engine}


def one_line(told: dict[str, Any]) -> str:
    """A machine for the foot of a chart."""
    gpus: list[dict[str, str]] = told.get("gpus") or []
    if gpus:
        return f"{len(gpus)} x {gpus[0]['name']}, driver {gpus[0]['driver_version']}"
    return f"{told.get('cpu')}, {told.get('cores')} cores, no GPU"


def _cpu() -> str:
    """Source: proc_cpuinfo(5)."""
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _gpus() -> list[dict[str, str]]:
    """Source: ``nvidia-smi --help-query-gpu``."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    line = [program, f"--query-gpu={','.join(_GPU_FIELDS)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    return [dict(zip(_GPU_FIELDS, row, strict=False)) for row in rows]
