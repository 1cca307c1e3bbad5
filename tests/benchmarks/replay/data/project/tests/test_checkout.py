"""What customers pay."""

from __future__ import annotations

import pytest

from shop.checkout import Cart, Checkout, EmptyCart, Line


def paid(country: str, *lines: Line, voucher: str | None = None) -> float:
    """The total of a cart."""
    return Checkout(Cart(list(lines)), country, voucher).total()


def test_empty_cart() -> None:
    with pytest.raises(EmptyCart):
        paid("DE")


def test_same_article_is_one_line() -> None:
    cart = Cart()
    cart.add(Line("atlas", "books", 20.0))
    cart.add(Line("atlas", "books", 20.0, 2))
    assert cart.lines == [Line("atlas", "books", 20.0, 3)]


def test_remove() -> None:
    cart = Cart([Line("drill", "tools", 90.0)])
    assert cart.remove("drill")
    assert not cart.remove("drill")


def test_reduced_rate_abroad() -> None:
    total = paid("PT", Line("atlas", "books", 100.0))
    assert total == 111.4


def test_standard_rate_abroad() -> None:
    assert paid("PT", Line("drill", "tools", 100.0)) == 128.4
