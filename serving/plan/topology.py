"""How the GPUs of a node share the work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serving.profile.architecture import Architecture


@dataclass(frozen=True)
class Topology:
    """A way to lay one model over the GPUs of a node.

    Attributes:
        tensor_parallel: GPUs that share one copy.
        data_parallel: ranks of one server; each has a KV cache of its own.
        replicas: independent servers.
        expert_parallel: the ranks of a server share one copy of the experts.
    """

    tensor_parallel: int
    data_parallel: int = 1
    replicas: int = 1
    expert_parallel: bool = False

    @property
    def gpus(self) -> int:
        """GPUs that it takes."""
        return self.tensor_parallel * self.data_parallel * self.replicas

    @property
    def pools(self) -> int:
        """KV caches that are apart from one another: a session must stay with one."""
        return self.data_parallel * self.replicas

    def __str__(self) -> str:
        parts = [f"{self.replicas} x" if self.replicas > 1 else "", f"TP{self.tensor_parallel}"]
        parts.append(f"DP{self.data_parallel}" if self.data_parallel > 1 else "")
        parts.append("EP" if self.expert_parallel else "")
        return " ".join(filter(None, parts))


def topologies(gpus: int, model: Architecture) -> Iterator[Topology]:
    """Every way that is worth a look: powers of two of GPUs a copy, and copies for the rest.

    Copies of a dense model are ranks of one server. Ranks of one server share the experts of a sparse model,
    so its copies are either such ranks or servers of their own.
    """
    size = gpus
    while size >= 1:
        copies = gpus // size
        if size * copies == gpus and _divides_heads(model, size):
            if copies == 1:
                yield Topology(size)
            elif model.is_sparse:
                yield Topology(size, replicas=copies)
                yield Topology(size, data_parallel=copies, expert_parallel=True)
            else:
                yield Topology(size, data_parallel=copies)
        size //= 2


def _divides_heads(model: Architecture, gpus: int) -> bool:
    """Tensor parallelism needs the query heads to divide evenly, and KV heads or their copies."""
    for layers in model.layers:
        heads = getattr(layers, "heads", 0) or getattr(layers, "value_heads", 0)
        if heads % gpus:
            return False
        kv_heads = getattr(layers, "kv_heads", gpus)
        if kv_heads % gpus and gpus % kv_heads:
            return False
    return True
