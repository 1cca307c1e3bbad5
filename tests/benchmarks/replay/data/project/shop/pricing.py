"""Prices: discounts, tax, shipping."""

from __future__ import annotations

from shop.rates import rate_of

FREE_ABOVE = 25
HOME = "DE"


class UnknownVoucher(KeyError):
    """Nobody issued it."""


VOUCHERS = {"WELCOME": 0.1, "SUMMER": 0.15, "STAFF": 0.3}


def discounted(net: float, voucher: str | None = None) -> float:
    """The price less what a voucher gives."""
    if voucher is None:
        return net
    if voucher not in VOUCHERS:
        raise UnknownVoucher(voucher)
    return net * (1 - VOUCHERS[voucher])


def gross(net: float, category: str, country: str) -> float:
    """The price with the tax of a country."""
    return net * (1 + rate_of(category, country))


def net_of(price: float, category: str, country: str) -> float:
    """The price before tax; the inverse of gross."""
    return price / (1 + rate_of(category, country))


def shipping(pieces: int, country: str) -> float:
    """What it costs to send so many pieces."""
    if pieces >= FREE_ABOVE:
        return 0.0
    return 0.0 if country == HOME else 4.9 + 0.5 * pieces


def refund(price: float, days: int) -> float:
    """What comes back after so many days: all, half, or nothing."""
    if days <= 14:
        return price
    return round(price / 2, 2) if days <= 30 else 0.0


def instalments(total: float, months: int) -> list[float]:
    """Equal parts, the last one with what rounding left."""
    part = round(total / months, 2)
    return [part] * (months - 1) + [round(total - part * (months - 1), 2)]


def points(total: float, factor: int = 1) -> int:
    """Bonus points for a purchase."""
    return int(total) // 10 * factor
