"""Carts and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from shop.pricing import discounted, gross, shipping


class EmptyCart(ValueError):
    """There is nothing to pay for."""


@dataclass(frozen=True)
class Line:
    """So many of one article."""

    article: str
    category: str
    net: float
    quantity: int = 1

    def sum(self) -> float:
        """Net price of all of them."""
        return self.net * self.quantity


@dataclass
class Cart:
    """What a customer has chosen."""

    lines: list[Line] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Put a line in, joined with one of the same article."""
        for at, present in enumerate(self.lines):
            if present.article == line.article and present.net == line.net:
                joined = Line(line.article, line.category, line.net, present.quantity + line.quantity)
                self.lines[at] = joined
                return
        self.lines.append(line)

    def remove(self, article: str) -> bool:
        """Take an article out; False where it is not in."""
        left = [line for line in self.lines if line.article != article]
        found = len(left) < len(self.lines)
        self.lines = left
        return found

    def weight(self) -> int:
        """How many pieces there are to send."""
        return sum(line.quantity for line in self.lines)


@dataclass
class Checkout:
    """A cart on its way to being paid."""

    cart: Cart
    country: str
    voucher: str | None = None

    def net(self) -> float:
        """What it costs without tax."""
        return sum(discounted(line.sum(), self.voucher) for line in self.cart.lines)

    def total(self) -> float:
        """What the customer pays."""
        if not self.cart.lines:
            raise EmptyCart("the cart is empty")
        goods = sum(
            gross(discounted(line.sum(), self.voucher), line.category, self.country)
            for line in self.cart.lines
        )
        return round(goods + shipping(self.cart.weight(), self.country), 2)

    def tax(self) -> float:
        """How much of the total is tax."""
        return round(self.total() - self.net() - shipping(self.cart.weight(), self.country), 2)

    def receipt(self) -> str:
        """A line for each article, and the total."""
        rows = [f"{line.quantity} x {line.article}: {line.sum():.2f}" for line in self.cart.lines]
        return "\n".join([*rows, f"total: {self.total():.2f}"])
