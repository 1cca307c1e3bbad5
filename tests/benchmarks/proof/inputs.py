"""The repository that the agents of the proof work on: written anew for each run, the same each time.

A shop of many modules with their tests, one of them on an interface that is no more, and notes of versions.
"""

from __future__ import annotations

import random
from pathlib import Path

#: Portugal's reduced rate, and what stands in the tables instead.
RIGHT, WRONG = "0.06", "0.60"
MODULES = (
    "basket", "customer", "delivery", "discount", "gift", "invoice", "order", "payment", "refund",
    "stock", "supplier", "voucher",
)  # fmt: skip
#: Where the name that is to be changed is used, besides where it is defined.
USERS = ("basket", "discount", "gift", "invoice", "order", "refund", "voucher")
COUNTRIES = (
    "AT", "BE", "BG", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE", "IT", "LT",
    "LU", "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK",
)  # fmt: skip
CATEGORIES = (
    "bicycles", "books", "cameras", "carpets", "clothes", "cosmetics", "curtains", "electronics",
    "flowers", "food", "footwear", "furniture", "games", "jewellery", "medicine", "music",
    "newspapers", "paints", "plants", "tickets", "tools", "toys", "umbrellas", "wine",
)  # fmt: skip
REDUCED = {"books", "food", "medicine", "newspapers", "tickets"}
NOUNS = (
    "amount", "balance", "batch", "charge", "claim", "count", "credit", "entry", "item", "limit",
    "margin", "quota", "ratio", "share", "total", "unit",
)  # fmt: skip
VERBS = (
    "adjust", "bound", "check", "clear", "fold", "grade", "hold", "join", "keep", "limit", "merge",
    "order", "pack", "rank", "scale", "sort", "sum", "trim",
)  # fmt: skip

FUNCTION = '''
def {name}(values: list[float], limit: float = {limit}) -> float:
    """The {noun} of the values, each at most {limit}, in steps of {step}.

    What is below {step} does not count, since it would be lost in the sums of a month.
    """
    kept = [min(value, limit) for value in values if value >= {step}]
    steps = sum(int(value / {step}) for value in kept)
    return round(steps * {step}, 2)
'''
USE = '''
def {module}_net(gross: float, category: str, country: str) -> float:
    """What a {module} comes to without tax."""
    return round(net_of(gross, rate_of(category, country)), 2)
'''
PRICING = '''
def net_of(gross: float, rate: float) -> float:
    """An amount without the tax that is in it."""
    return gross / (1 + rate)


def gross_of(net: float, category: str, country: str) -> float:
    """An amount with the tax of its category in a country."""
    return round(net * (1 + rate_of(category, country)), 2)
'''
CHECKOUT = '''
class Checkout:
    """What a customer pays for: lines of a net amount and a category, sold to a country."""

    def __init__(self, country: str) -> None:
        self.country = country
        self.lines: list[tuple[float, str]] = []

    def add(self, net: float, category: str) -> None:
        """Put one more line on the bill."""
        self.lines.append((net, category))

    def due(self) -> float:
        """The sum of all lines, each with its tax."""
        return round(sum(gross_of(net, category, self.country) for net, category in self.lines), 2)
'''
OLD_USE = '''
def {name}(net: float) -> float:
    """The tax on a {noun} of the old books."""
    return taxes.compute(net, "{code}")
'''


def filler(seed: str, count: int) -> str:
    """Functions that matter to no task, as most of a repository does."""
    source = random.Random(seed)
    names = source.sample([f"{verb}_{noun}s" for verb in VERBS for noun in NOUNS], count)
    return "\n".join(
        FUNCTION.format(
            name=name,
            noun=name.rpartition("_")[2],
            limit=source.randrange(100, 9000, 50),
            step=source.choice(("0.05", "0.25", "0.5", "1.5", "2.5")),
        )
        for name in names
    )


def rates() -> str:
    """The module with the tax tables; its head states Portugal's reduced rate, its constant is wrong."""
    lines = [
        '"""Tax rates by country and category.',
        "",
        *(
            f"{country}: standard 0.{19 + at % 7}, reduced 0.0{5 + at % 3}."
            for at, country in enumerate(COUNTRIES)
        ),
        '"""',
        "",
    ]
    text = "\n".join(lines).replace(
        next(line for line in lines if line.startswith("PT:")), f"PT: standard 0.23, reduced {RIGHT}."
    )
    for at, country in enumerate(COUNTRIES):
        standard, reduced = f"0.{19 + at % 7}", f"0.0{5 + at % 3}"
        if country == "PT":
            standard, reduced = "0.23", WRONG
        text += f"STANDARD_{country} = {standard}\nREDUCED_{country} = {reduced}\n"
    text += "\nRATES = {\n"
    for country in COUNTRIES:
        text += f'    "{country}": {{\n'
        for category in CATEGORIES:
            kind = "REDUCED" if category in REDUCED else "STANDARD"
            text += f'        "{category}": {kind}_{country},\n'
        text += "    },\n"
    return (
        text
        + "}\n\n\ndef rate_of(category: str, country: str) -> float:\n    return RATES[country][category]\n"
    )


def write(folder: Path) -> None:
    """Write sources, tests and notes into an empty folder."""
    shop, tests = folder / "shop", folder / "tests"
    for place in (shop, tests, folder / "docs"):
        place.mkdir(parents=True)
    (shop / "__init__.py").write_text("")
    (shop / "rates.py").write_text(rates())
    (shop / "pricing.py").write_text(
        "from shop.rates import rate_of\n\n" + filler("pricing", 150) + "\n" + PRICING + filler("after", 40)
    )
    (shop / "checkout.py").write_text(
        "from shop.pricing import gross_of\n\n" + filler("checkout", 190) + "\n" + CHECKOUT
    )
    for module in MODULES:
        uses = module in USERS
        head = "from shop.pricing import net_of\nfrom shop.rates import rate_of\n\n" if uses else "\n"
        use = USE.format(module=module) if uses else ""
        (shop / f"{module}.py").write_text(head + filler(module, 22) + "\n" + use + filler(f"{module}-2", 22))
    (shop / "ledger.py").write_text(ledger())
    (shop / "taxes.py").write_text(TAXES)
    (folder / "docs" / "taxes.md").write_text(taxes_page())
    _write_tests(tests)


TAXES = '''"""Taxes by code: `Tax(code).on(net)`. The function `compute` is gone."""

RATES = {"A1": 0.19, "B7": 0.07, "C3": 0.0, "D9": 0.23}


class Tax:
    """A tax by its code."""

    def __init__(self, code: str) -> None:
        self.rate = RATES[code]

    def on(self, net: float) -> float:
        """The tax on a net amount, rounded to cents."""
        return round(net * self.rate, 2)
'''
TAXES_OF_100 = {"A1": 19.0, "B7": 7.0, "C3": 0.0, "D9": 23.0}
CODES = ("A1", "B7", "C3", "D9", "A1", "B7", "D9", "A1")


OLD_FILLERS = 25


def ledger() -> str:
    """A module of which eight functions still call what is gone."""
    text = '"""The old books."""\n\nfrom shop import taxes\n\n'
    for at, code in enumerate(CODES):
        text += filler(f"ledger-{at}", OLD_FILLERS) + "\n"
        text += OLD_USE.format(name=f"tax_of_book_{at}", noun=NOUNS[at], code=code)
    return text + filler("ledger-end", 10)


def taxes_page() -> str:
    """The page that tells how to move, somewhere in the notes of many versions."""
    source = random.Random("page")
    parts = ["# Changes of shop.taxes\n"]
    for version in range(60, 0, -1):
        parts.append(f"\n## Version {version // 10}.{version % 10}\n")
        if version == 37:
            parts.append(
                "\n`taxes.compute(net, code)` is gone. Write `taxes.Tax(code).on(net)`: the code is that of "
                "before, and the result is rounded to cents as before.\n"
            )
            continue
        for _ in range(5):
            verb, noun, other = source.choice(VERBS), source.choice(NOUNS), source.choice(NOUNS)
            parts.append(
                f"\n- `{verb}_{noun}s` takes the {other} into account before the month is closed, not after."
            )
        parts.append("\n")
    return "".join(parts)


def _write_tests(tests: Path) -> None:
    (tests / "test_checkout.py").write_text(
        "from shop.checkout import Checkout\n\n\n"
        + "".join(_checkout_test(country, category) for country in COUNTRIES for category in CATEGORIES[::3])
        + 'def test_reduced_rate_abroad():\n    checkout = Checkout("PT")\n'
        '    checkout.add(100.0, "books")\n    checkout.add(5.0, "wine")\n'
        "    assert checkout.due() == 112.15\n"
    )
    (tests / "test_uses.py").write_text(
        "import importlib\n\nimport pytest\n\n\n"
        f"@pytest.mark.parametrize('name', {USERS!r})\n"
        "def test_net(name):\n    module = importlib.import_module(f'shop.{name}')\n"
        "    assert getattr(module, f'{name}_net')(119.0, 'wine', 'AT') == 100.0\n"
    )
    (tests / "test_ledger.py").write_text(
        "import pytest\n\nfrom shop import ledger\n\n\n"
        f"@pytest.mark.parametrize(('at', 'tax'), {list(enumerate(map(TAXES_OF_100.get, CODES)))!r})\n"
        "def test_tax(at, tax):\n    assert getattr(ledger, f'tax_of_book_{at}')(100.0) == tax\n"
    )


def _checkout_test(country: str, category: str) -> str:
    return (
        f'def test_{country.lower()}_{category}():\n    checkout = Checkout("{country}")\n'
        f'    checkout.add(0.0, "{category}")\n    assert checkout.due() == 0.0\n\n\n'
    )
