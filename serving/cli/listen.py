"""``metrics --listen``: an exporter beside a node, for Prometheus; reads the node when it is asked."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from serving.cli.command import Context, Exit
from serving.cli.gate import address_of
from serving.cli.observe import base_of, key_of, page_of, records_in, status_of
from serving.errors import EngineError, MissingExtraError, ServingUsageError

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from serving.telemetry import ServedRequest
    from serving.telemetry.window import Window

_LEAST_SECONDS: Final = 1.0
"""Between two readings of the node, however many ask."""


class Tail:
    """A record file that grows; each call gives the requests whose lines have been completed since."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._rest = b""

    def read(self) -> Iterator[ServedRequest]:
        """New requests; none while the file is not there.

        Raises:
            ServingUsageError: a line is no record.
        """
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except OSError:
                return
        whole = self._rest + self._file.read()
        lines, newline, self._rest = whole.rpartition(b"\n")
        if newline:
            yield from records_in(lines.decode("utf-8", "replace").split("\n"), str(self._path))

    def close(self) -> None:
        """Close it."""
        if self._file is not None:
            self._file.close()


@dataclass(frozen=True)
class Sources:
    """Where an exporter reads.

    Attributes:
        url: the gate or the engine; None for records alone.
        key: the gate's own; None where it asks for none.
        tail: the gate's records; None without.
        series: looks are appended there; None for nowhere.
    """

    url: str | None
    key: str | None
    tail: Tail | None
    series: IO[str] | None


class Exporter:
    """A collector for ``prometheus_client``; each scrape of it is one look at the node.

    Args:
        sources: what is read.
        window: what is kept.
        note: is told of what cannot be read, once until it changes.
        clock: seconds since 1970, as the records have them.
    """

    def __init__(
        self,
        sources: Sources,
        window: Window,
        note: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._sources = sources
        self._window = window
        self._note = note
        self._clock = clock
        self._lock = threading.Lock()
        self._looked: float | None = None
        self._errors: dict[str, str] = {}

    def collect(self) -> Iterator[Metric]:
        """Look at the node, and tell what the window comes to."""
        from prometheus_client.core import GaugeMetricFamily

        from serving.telemetry import readings
        from serving.telemetry.families import PREFIX, figure_families, mode_family
        from serving.telemetry.modes import find_modes

        with self._lock:
            now = self._clock()
            if self._looked is None or now - self._looked >= _LEAST_SECONDS:
                self._look(now)
                self._looked = now
            observed, looks = self._window.observed(now), self._window.looks()
            errors = dict(self._errors)
        yield from figure_families(readings(observed))
        yield mode_family(find_modes(looks), looks)
        up = GaugeMetricFamily(
            f"{PREFIX}source_up", "whether a source could be read: 0 or 1", labels=["source"]
        )
        for name in self._names():
            up.add_metric([name], float(name not in errors))
        yield up
        text = "how far back figures reach: from the first page that is kept"
        yield GaugeMetricFamily(f"{PREFIX}window_seconds", text, value=observed.seconds or 0.0)

    def _names(self) -> Iterator[str]:
        if self._sources.url is not None:
            yield "engine"
        if self._sources.tail is not None:
            yield "records"

    def _look(self, now: float) -> None:
        from serving.telemetry.series import as_line

        scrape = gate = None
        url = self._sources.url
        if url is not None:
            with self._reading("engine"):
                scrape, gate = page_of(url, self._sources.key), status_of(url, self._sources.key)
        if self._sources.tail is not None:
            with self._reading("records"):
                self._window.served(self._sources.tail.read())
        look = self._window.saw(now, scrape, gate)
        if look is not None and self._sources.series is not None:
            self._sources.series.write(as_line(look) + "\n")
            self._sources.series.flush()

    @contextmanager
    def _reading(self, source: str) -> Generator[None]:
        """Keeps what cannot be read from ending a scrape."""
        try:
            yield
        except (EngineError, ServingUsageError) as error:
            if self._errors.get(source) != str(error):
                self._errors[source] = str(error)
                self._note(str(error))
        else:
            self._errors.pop(source, None)


def listen(args: argparse.Namespace, context: Context) -> int:
    """Serve the exporter until interrupted.

    Raises:
        ServingUsageError: nothing is named, or the address cannot be listened at.
        MissingExtraError: prometheus_client is not installed.
    """
    if find_spec("prometheus_client") is None:
        raise MissingExtraError("prometheus_client is not installed; run: pip install 'mcp-offload[gate]'")
    from serving.telemetry.window import Window

    host, port = address_of(args.listen)
    if not (args.url or args.records):
        raise ServingUsageError("Name what to read: --url URL of the gate or engine, --records FILE or both.")
    if args.page or args.window_seconds <= 0:
        raise ServingUsageError("--listen reads --url itself, not --page; --window-seconds is positive.")
    window = Window(args.window_seconds, base_of(args, context))
    series = args.series.open("a", encoding="utf-8") if args.series else None
    tail = Tail(args.records) if args.records else None
    try:
        sources = Sources(args.url, key_of(args), tail, series)
        _serve(Exporter(sources, window, context.console.note), host, port, context)
    finally:
        for kept in (series, tail):
            if kept is not None:
                kept.close()
    return Exit.DONE


def _serve(exporter: Exporter, host: str, port: int, context: Context) -> None:
    """Answer Prometheus until interrupted."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import start_http_server

    registry = CollectorRegistry()
    registry.register(exporter)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ServingUsageError(f"{host}:{port} cannot be listened at: {error.strerror}.") from error
    try:
        address = f"http://{host}:{server.server_port}/metrics"
        context.console.note(f"the exporter listens at {address}")
        if context.console.as_json:
            context.console.json({"listening": address})
            context.console.flush()
        thread.join()
    finally:
        server.shutdown()
        server.server_close()
