"""What a plan is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from serving.plan.assumptions import DEFAULTS, Assumptions
from serving.plan.engine import Draft, Engine
from serving.plan.load import Load
from serving.plan.topology import Topology
from serving.profile.checkpoint import Model
from serving.profile.formats import KV_16BIT, KV_FP8, KvFormat
from serving.profile.gpu import Gpu

FP8_PAYS_TOKENS = 7_000
"""With keys of 256 elements FP8 slows prefill's quadratic part and pays from about this depth on. Source:
vLLM blog of 2026-04-22 on FP8 KV caches."""


@dataclass(frozen=True)
class Request:
    """A model, hardware and a load.

    Attributes:
        model: what is served.
        gpu: each of the node's.
        gpus: how many.
        load: what they should carry.
        kv: the format of keys and values; None lets the plan choose.
        drafts: ways to speculate that are judged.
        draft_checkpoint: the draft model's, where one of them is one.
        acceptance_measured: False where the drafts' acceptance is a guess; then none is recommended.
        assume: what is taken for granted.
        engine_version: of vLLM.
    """

    model: Model
    gpu: Gpu
    gpus: int
    load: Load
    kv: KvFormat | None = None
    drafts: tuple[Draft, ...] = ()
    draft_checkpoint: str | None = None
    acceptance_measured: bool = False
    assume: Assumptions = DEFAULTS
    engine_version: str = "0.33.0"

    @property
    def kv_format(self) -> KvFormat:
        """The format asked for, else the one that fits depth and model."""
        if self.kv is not None:
            return self.kv
        wide = self.model.architecture.largest_head_dim >= 256
        return KV_16BIT if wide and self.load.depth_tokens < FP8_PAYS_TOKENS else KV_FP8

    def engine(self, kv: KvFormat | None = None) -> Engine:
        """One engine on one GPU, for :func:`serving.plan.choice.candidates` to lay out."""
        chosen = kv or self.kv_format
        architecture = self.model.architecture
        return Engine(
            model=architecture,
            weights=self.model.weights,
            kv=chosen,
            gpu=self.gpu,
            topology=Topology(1),
            assume=self.assume,
            # A window keeps few tokens: FP8 saves little there, and the engine can leave those layers out.
            window_kv=KV_16BIT if architecture.has_window and chosen is KV_FP8 else None,
        )
