"""Writes dashboard.json with Grafana's own SDK: ``python examples/serving/grafana/dashboard.py``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

FILE = Path(__file__).with_name("dashboard.json")
SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
NODE = 'instance=~"$instance"'


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        title: above it.
        unit: one of Grafana's.
        queries: PromQL with the legend of each.
        told: what to read from it.
        most: the axis ends there; None for what suits.
    """

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    told: str
    most: float | None = None


def _rate(name: str, more: str = "", by: str = "instance") -> str:
    labels = f"{NODE},{more}" if more else NODE
    return f"sum by ({by}) (rate({name}{{{labels}}}[$__rate_interval]))"


def _of_blocks(name: str) -> str:
    return (
        f"sum by (instance) (mcp_offload_gate_{name}{{{NODE}}})"
        f" / sum by (instance) (mcp_offload_gate_leasable_blocks{{{NODE}}})"
    )


def _uncached() -> str:
    hits, queries = _rate("vllm:prefix_cache_hits_total"), _rate("vllm:prefix_cache_queries_total")
    return f"1 - {hits} / {queries}"


def _tokens_per_step() -> str:
    accepted, drafts = (_rate(f"vllm:spec_decode_num_{name}_total") for name in ("accepted_tokens", "drafts"))
    return f"1 + {accepted} / {drafts}"


def _node(name: str) -> str:
    return f"mcp_offload_node_{name}"


ROWS: dict[str, tuple[Panel, ...]] = {
    "KV cache and leases": (
        Panel(
            "KV cache",
            "percentunit",
            (
                (_of_blocks("leased_blocks"), "leased {{instance}}"),
                (_of_blocks("session_blocks"), "session leases {{instance}}"),
                (
                    f"avg by (instance) (vllm:kv_cache_usage_perc{{{NODE}}})",
                    "used by the engine {{instance}}",
                ),
            ),
            "Blocks that only cache a prefix count as free: a thrashing pool may look half empty.",
        ),
        Panel(
            "Recomputing",
            "percentunit",
            (
                (f"mcp_offload_gate_recompute_share{{{NODE}}}", "share of the time {{instance}}"),
                (
                    _uncached(),
                    "prompt tokens not cached {{instance}}",
                ),
            ),
            "Time spent on prompt tokens that had been computed before: the figure to alarm on.",
        ),
        Panel(
            "Preemptions",
            "short",
            (
                (
                    f"{_rate('vllm:num_preemptions_total')} / ({_rate('vllm:request_success_total')} > 0)",
                    "a request {{instance}}",
                ),
                (_node("preempted_requests_high_ratio"), "95 % bound of the share of requests"),
            ),
            "Low while the cache thrashes: idle agents lose their prefixes without a preemption.",
        ),
        Panel(
            "Lease overruns",
            "short",
            (
                (
                    f"sum by (instance) (increase(mcp_offload_gate_lease_overruns_total{{{NODE}}}[1h]))",
                    "in an hour {{instance}}",
                ),
            ),
            "Requests that wrote past a lease which could not grow. None under strict leases.",
        ),
    ),
    "Velocity": (
        Panel(
            "Velocity by depth",
            "none",
            (
                (_node("decode_velocity_median_tokens_per_second"), "median from {{depth}}"),
                (
                    _node("sustained_velocity_p10_tokens_per_second"),
                    "p10 of 4,000 tokens and more from {{depth}}",
                ),
            ),
            "Tokens a second of one stream, by the context it starts from.",
        ),
        Panel(
            "A stream's velocity now",
            "none",
            ((f"mcp_offload_gate_stream_tokens_per_second{{{NODE}}}", "engine {{engine}} {{instance}}"),),
            "Tokens a second, speculation included.",
        ),
        Panel(
            "Steps of over a second",
            "percentunit",
            (
                (
                    f"({_rate('vllm:inter_token_latency_seconds_count')} - "
                    + _rate("vllm:inter_token_latency_seconds_bucket", 'le="1.0"')
                    + f") / {_rate('vllm:inter_token_latency_seconds_sum')}",
                    "of the streams' time {{instance}}",
                ),
            ),
            "The least part of their time that streams stand still: a prefill freeze.",
        ),
        Panel(
            "Speculation",
            "short",
            (
                (
                    _tokens_per_step(),
                    "tokens a step {{instance}}",
                ),
                (_node("acceptance_ratio"), "acceptance"),
            ),
            "More tokens a step is no speed: the step takes longer. Empty without speculation.",
        ),
    ),
    "Requests": (
        Panel(
            "Running and waiting",
            "short",
            (
                (f"sum by (instance) (mcp_offload_gate_running_requests{{{NODE}}})", "running {{instance}}"),
                (
                    f"sum by (instance, reason) (mcp_offload_gate_waiting_requests{{{NODE}}})",
                    "waiting {{reason}} {{instance}}",
                ),
                (
                    f"sum by (instance) (vllm:num_requests_waiting{{{NODE}}})",
                    "waiting in the engine {{instance}}",
                ),
            ),
            "The gate's own queue, by what requests wait for, and the engine's.",
        ),
        Panel(
            "Waits and latency",
            "s",
            (
                (_node("queue_wait_p99_seconds"), "wait at the gate, p99"),
                (_node("first_token_p99_seconds"), "first token, p99"),
                (_node("latency_p99_seconds"), "last token, p99"),
            ),
            "Over the exporter's window.",
        ),
        Panel(
            "Outcomes",
            "reqps",
            ((_rate("mcp_offload_gate_requests_total", by="instance, outcome"), "{{outcome}} {{instance}}"),),
            "How generating requests ended.",
        ),
        Panel(
            "Tokens",
            "none",
            (
                (_rate("vllm:generation_tokens_total"), "written a second {{instance}}"),
                (_rate("vllm:prompt_tokens_total"), "of prompts a second {{instance}}"),
            ),
            "",
        ),
    ),
    "The node": (
        Panel(
            "Utilization",
            "percentunit",
            ((_node("mbu_ratio"), "MBU"), (_node("mfu_ratio"), "MFU"), (_node("hfu_ratio"), "HFU")),
            "Decoding is bound by memory: an MFU of a few percent is normal. Over 100 % it is wrong.",
        ),
        Panel(
            "Failure modes",
            "short",
            ((_node("failure_mode"), "{{mode}}"),),
            "1 while a mode holds; the runbook says what to do.",
            most=1.0,
        ),
        Panel(
            "Restarts and want of memory",
            "short",
            (
                (_node("engine_restarts_total"), "restarts"),
                (_node("memory_failures_total"), "for want of memory"),
            ),
            "Every lease and every cached prefix is lost with a restart.",
        ),
        Panel(
            "Impossible figures, and cost",
            "short",
            (
                (f"sum({_node('figure_impossible')})", "figures that cannot be"),
                (_node("cost_per_session_currency"), "cost of an agent's task"),
            ),
            "Where a figure cannot be, model, format, GPU or the records are not what was said.",
        ),
    ),
}


def _panel(panel: Panel) -> timeseries.Panel:
    made = (
        timeseries.Panel()
        .title(panel.title)
        .description(panel.told)
        .datasource(SOURCE)
        .unit(panel.unit)
        .min(0.0)
        .fill_opacity(8)
        .span(12)
        .height(8)
    )
    if panel.most is not None:
        made = made.max(panel.most)
    for place, (query, legend) in enumerate(panel.queries):
        made = made.with_target(
            prometheus.Dataquery()
            .expr(query)
            .legend_format(legend)
            .ref_id("ABCDEF"[place])
            .datasource(SOURCE)
        )
    return made


def build() -> str:
    """The dashboard as JSON."""
    made = (
        dashboard.Dashboard("A node that serves agents")
        .uid("mcp-offload-node")
        .description("vLLM behind the lease gate of mcp-offload: docs/how-to/monitor.md")
        .tags(["mcp-offload", "vllm"])
        .refresh("30s")
        .time("now-3h", "now")
        .timezone("browser")
        .with_variable(dashboard.DatasourceVariable("source").label("Prometheus").type("prometheus"))
        .with_variable(
            dashboard.QueryVariable("instance")
            .label("Node")
            .datasource(SOURCE)
            .query("label_values(mcp_offload_gate_leasable_blocks, instance)")
            .multi(True)
            .include_all(True)
        )
    )
    for title, panels in ROWS.items():
        made = made.with_row(dashboard.Row(title))
        for panel in panels:
            made = made.with_panel(_panel(panel))
    return JSONEncoder(sort_keys=True, indent=2).encode(made.build()) + "\n"


if __name__ == "__main__":
    FILE.write_text(build(), encoding="utf-8")
    sys.stderr.write(f"{FILE}\n")
