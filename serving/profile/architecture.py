"""What a model is made of, as far as memory and arithmetic depend on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AttentionLayers:
    """Layers that keep keys and values for every token, or for the last ``window`` of them.

    Attributes:
        count: layers of this kind.
        heads: query heads.
        kv_heads: key and value heads; fewer than ``heads`` in grouped-query attention, 1 in multi-query.
        head_dim: elements of one key, and of one value.
        window: tokens that a layer looks back on; None where it is all of them.
    """

    count: int
    heads: int
    kv_heads: int
    head_dim: int
    window: int | None = None


@dataclass(frozen=True)
class LatentLayers:
    """Multi-head latent attention: one compressed vector per token, the same for every head.

    Attributes:
        count: layers of this kind.
        heads: query heads.
        rank: elements of the compressed vector.
        rope_dim: elements of the rotary key beside it.
        nope_dim: elements per head of the key without rotation.
        value_dim: elements per head of the value.
    """

    count: int
    heads: int
    rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int


@dataclass(frozen=True)
class LinearLayers:
    """Gated delta net layers: a state of fixed size per sequence, however long it is.

    Attributes:
        count: layers of this kind.
        key_heads, value_heads: heads.
        key_dim, value_dim: elements per head.
        conv_kernel: width of the convolution before it.
        state_bytes_per_element: of the recurrent state, as the model's configuration asks for.
    """

    count: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv_kernel: int
    state_bytes_per_element: int

    @property
    def recurrent_elements(self) -> int:
        """Elements of one layer's recurrent state of one sequence."""
        return self.value_heads * self.value_dim * self.key_dim

    @property
    def conv_channels(self) -> int:
        """Channels of the convolution."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim


Layers = AttentionLayers | LatentLayers | LinearLayers


@dataclass(frozen=True)
class Parameters:
    """Counts of parameters by how they are stored and read.

    Attributes:
        embedding: the input table; a decode step reads one row of it.
        head: the output projection; 0 where it is the embedding.
        linear: projections that every token passes, but for experts.
        experts: all routed experts of all layers.
        small: norms, biases, routers and convolutions, which stay in 16 bits.
        expert_count: routed experts of one layer; 0 where there are none.
        experts_per_token: how many of them a token passes.
    """

    embedding: int
    head: int
    linear: int
    experts: int = 0
    small: int = 0
    expert_count: int = 0
    experts_per_token: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.embedding + self.head + self.linear + self.experts + self.small

    @property
    def head_or_tied(self) -> int:
        """The output projection, also where it is the embedding."""
        return self.head or self.embedding

    @property
    def active(self) -> float:
        """What one token is multiplied with: every projection, its experts, and the head."""
        share = self.experts_per_token / self.expert_count if self.expert_count else 0.0
        return self.linear + self.experts * share + self.head_or_tied


@dataclass(frozen=True)
class Architecture:
    """A model's shape.

    Attributes:
        model_type: as its configuration names it.
        hidden: width.
        vocabulary: tokens.
        max_positions: the longest sequence it was made for.
        layers: its layers by kind.
        parameters: of the model itself, without multi-token-prediction layers.
        mtp_layers: multi-token-prediction layers that the checkpoint carries; 0 where it has none.
        mtp: one such layer's attention; None where there is none.
        mtp_parameters: of all such layers.
    """

    model_type: str
    hidden: int
    vocabulary: int
    max_positions: int
    layers: tuple[Layers, ...]
    parameters: Parameters
    mtp_layers: int = 0
    mtp: AttentionLayers | LatentLayers | None = None
    mtp_parameters: int = 0

    @property
    def depth(self) -> int:
        """Layers of every kind."""
        return sum(layers.count for layers in self.layers)

    @property
    def is_sparse(self) -> bool:
        """True where tokens pass some of many experts."""
        return self.parameters.expert_count > 0

    @property
    def is_hybrid(self) -> bool:
        """True where some layers keep a state instead of keys and values."""
        return any(isinstance(layers, LinearLayers) for layers in self.layers)

    @property
    def has_window(self) -> bool:
        """True where some layers look back on a window only."""
        return any(isinstance(layers, AttentionLayers) and layers.window for layers in self.layers)

    @property
    def largest_head_dim(self) -> int:
        """Of the layers that keep keys and values; 0 where none does."""
        dims = [layers.head_dim for layers in self.layers if isinstance(layers, AttentionLayers)]
        return max(dims, default=0)
