"""Prices in every country."""

from __future__ import annotations

import pytest

from shop.pricing import discounted, gross, instalments, net_of, points, refund, shipping
from shop.rates import RATES, countries


@pytest.mark.parametrize("country", countries())
@pytest.mark.parametrize("category", sorted(RATES["DE"]))
def test_net_of_gross(category: str, country: str) -> None:
    assert net_of(gross(80.0, category, country), category, country) == pytest.approx(80.0)


@pytest.mark.parametrize("country", countries())
def test_shipping_is_free_for_many(country: str) -> None:
    assert shipping(25, country) == 0.0


@pytest.mark.parametrize("months", range(1, 25))
def test_instalments_add_up(months: int) -> None:
    assert sum(instalments(999.99, months)) == pytest.approx(999.99)


@pytest.mark.parametrize(("days", "back"), [(0, 50.0), (14, 50.0), (30, 25.0), (31, 0.0)])
def test_refund(days: int, back: float) -> None:
    assert refund(50.0, days) == back


def test_voucher() -> None:
    assert discounted(200.0, "SUMMER") == pytest.approx(170.0)


def test_points() -> None:
    assert points(99.0, 2) == 18
