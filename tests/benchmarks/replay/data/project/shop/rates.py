"""Tax rates by country and category."""

from __future__ import annotations

STANDARD_AT = 0.22
REDUCED_AT = 0.05
STANDARD_BE = 0.17
REDUCED_BE = 0.05
STANDARD_BG = 0.25
REDUCED_BG = 0.10
STANDARD_CZ = 0.24
REDUCED_CZ = 0.07
STANDARD_DE = 0.20
REDUCED_DE = 0.11
STANDARD_DK = 0.19
REDUCED_DK = 0.05
STANDARD_EE = 0.20
REDUCED_EE = 0.12
STANDARD_ES = 0.20
REDUCED_ES = 0.07
STANDARD_FI = 0.23
REDUCED_FI = 0.08
STANDARD_FR = 0.26
REDUCED_FR = 0.08
STANDARD_GR = 0.22
REDUCED_GR = 0.09
STANDARD_HR = 0.24
REDUCED_HR = 0.11
STANDARD_HU = 0.26
REDUCED_HU = 0.12
STANDARD_IE = 0.24
REDUCED_IE = 0.08
STANDARD_IT = 0.22
REDUCED_IT = 0.06
STANDARD_LT = 0.26
REDUCED_LT = 0.11
STANDARD_LU = 0.19
REDUCED_LU = 0.12
STANDARD_LV = 0.21
REDUCED_LV = 0.11
STANDARD_MT = 0.18
REDUCED_MT = 0.11
STANDARD_NL = 0.19
REDUCED_NL = 0.06
STANDARD_PL = 0.27
REDUCED_PL = 0.11
STANDARD_PT = 0.23
REDUCED_PT = 0.60
STANDARD_RO = 0.26
REDUCED_RO = 0.10
STANDARD_SE = 0.21
REDUCED_SE = 0.10
STANDARD_SI = 0.23
REDUCED_SI = 0.05
STANDARD_SK = 0.27
REDUCED_SK = 0.11

RATES: dict[str, dict[str, float]] = {
    "AT": {
        "books": REDUCED_AT,
        "clothes": STANDARD_AT,
        "cosmetics": STANDARD_AT,
        "electronics": STANDARD_AT,
        "food": REDUCED_AT,
        "furniture": STANDARD_AT,
        "games": STANDARD_AT,
        "medicine": REDUCED_AT,
        "music": STANDARD_AT,
        "tickets": REDUCED_AT,
        "tools": STANDARD_AT,
        "toys": STANDARD_AT,
    },
    "BE": {
        "books": REDUCED_BE,
        "clothes": STANDARD_BE,
        "cosmetics": STANDARD_BE,
        "electronics": STANDARD_BE,
        "food": REDUCED_BE,
        "furniture": STANDARD_BE,
        "games": STANDARD_BE,
        "medicine": REDUCED_BE,
        "music": STANDARD_BE,
        "tickets": REDUCED_BE,
        "tools": STANDARD_BE,
        "toys": STANDARD_BE,
    },
    "BG": {
        "books": REDUCED_BG,
        "clothes": STANDARD_BG,
        "cosmetics": STANDARD_BG,
        "electronics": STANDARD_BG,
        "food": REDUCED_BG,
        "furniture": STANDARD_BG,
        "games": STANDARD_BG,
        "medicine": REDUCED_BG,
        "music": STANDARD_BG,
        "tickets": REDUCED_BG,
        "tools": STANDARD_BG,
        "toys": STANDARD_BG,
    },
    "CZ": {
        "books": REDUCED_CZ,
        "clothes": STANDARD_CZ,
        "cosmetics": STANDARD_CZ,
        "electronics": STANDARD_CZ,
        "food": REDUCED_CZ,
        "furniture": STANDARD_CZ,
        "games": STANDARD_CZ,
        "medicine": REDUCED_CZ,
        "music": STANDARD_CZ,
        "tickets": REDUCED_CZ,
        "tools": STANDARD_CZ,
        "toys": STANDARD_CZ,
    },
    "DE": {
        "books": REDUCED_DE,
        "clothes": STANDARD_DE,
        "cosmetics": STANDARD_DE,
        "electronics": STANDARD_DE,
        "food": REDUCED_DE,
        "furniture": STANDARD_DE,
        "games": STANDARD_DE,
        "medicine": REDUCED_DE,
        "music": STANDARD_DE,
        "tickets": REDUCED_DE,
        "tools": STANDARD_DE,
        "toys": STANDARD_DE,
    },
    "DK": {
        "books": REDUCED_DK,
        "clothes": STANDARD_DK,
        "cosmetics": STANDARD_DK,
        "electronics": STANDARD_DK,
        "food": REDUCED_DK,
        "furniture": STANDARD_DK,
        "games": STANDARD_DK,
        "medicine": REDUCED_DK,
        "music": STANDARD_DK,
        "tickets": REDUCED_DK,
        "tools": STANDARD_DK,
        "toys": STANDARD_DK,
    },
    "EE": {
        "books": REDUCED_EE,
        "clothes": STANDARD_EE,
        "cosmetics": STANDARD_EE,
        "electronics": STANDARD_EE,
        "food": REDUCED_EE,
        "furniture": STANDARD_EE,
        "games": STANDARD_EE,
        "medicine": REDUCED_EE,
        "music": STANDARD_EE,
        "tickets": REDUCED_EE,
        "tools": STANDARD_EE,
        "toys": STANDARD_EE,
    },
    "ES": {
        "books": REDUCED_ES,
        "clothes": STANDARD_ES,
        "cosmetics": STANDARD_ES,
        "electronics": STANDARD_ES,
        "food": REDUCED_ES,
        "furniture": STANDARD_ES,
        "games": STANDARD_ES,
        "medicine": REDUCED_ES,
        "music": STANDARD_ES,
        "tickets": REDUCED_ES,
        "tools": STANDARD_ES,
        "toys": STANDARD_ES,
    },
    "FI": {
        "books": REDUCED_FI,
        "clothes": STANDARD_FI,
        "cosmetics": STANDARD_FI,
        "electronics": STANDARD_FI,
        "food": REDUCED_FI,
        "furniture": STANDARD_FI,
        "games": STANDARD_FI,
        "medicine": REDUCED_FI,
        "music": STANDARD_FI,
        "tickets": REDUCED_FI,
        "tools": STANDARD_FI,
        "toys": STANDARD_FI,
    },
    "FR": {
        "books": REDUCED_FR,
        "clothes": STANDARD_FR,
        "cosmetics": STANDARD_FR,
        "electronics": STANDARD_FR,
        "food": REDUCED_FR,
        "furniture": STANDARD_FR,
        "games": STANDARD_FR,
        "medicine": REDUCED_FR,
        "music": STANDARD_FR,
        "tickets": REDUCED_FR,
        "tools": STANDARD_FR,
        "toys": STANDARD_FR,
    },
    "GR": {
        "books": REDUCED_GR,
        "clothes": STANDARD_GR,
        "cosmetics": STANDARD_GR,
        "electronics": STANDARD_GR,
        "food": REDUCED_GR,
        "furniture": STANDARD_GR,
        "games": STANDARD_GR,
        "medicine": REDUCED_GR,
        "music": STANDARD_GR,
        "tickets": REDUCED_GR,
        "tools": STANDARD_GR,
        "toys": STANDARD_GR,
    },
    "HR": {
        "books": REDUCED_HR,
        "clothes": STANDARD_HR,
        "cosmetics": STANDARD_HR,
        "electronics": STANDARD_HR,
        "food": REDUCED_HR,
        "furniture": STANDARD_HR,
        "games": STANDARD_HR,
        "medicine": REDUCED_HR,
        "music": STANDARD_HR,
        "tickets": REDUCED_HR,
        "tools": STANDARD_HR,
        "toys": STANDARD_HR,
    },
    "HU": {
        "books": REDUCED_HU,
        "clothes": STANDARD_HU,
        "cosmetics": STANDARD_HU,
        "electronics": STANDARD_HU,
        "food": REDUCED_HU,
        "furniture": STANDARD_HU,
        "games": STANDARD_HU,
        "medicine": REDUCED_HU,
        "music": STANDARD_HU,
        "tickets": REDUCED_HU,
        "tools": STANDARD_HU,
        "toys": STANDARD_HU,
    },
    "IE": {
        "books": REDUCED_IE,
        "clothes": STANDARD_IE,
        "cosmetics": STANDARD_IE,
        "electronics": STANDARD_IE,
        "food": REDUCED_IE,
        "furniture": STANDARD_IE,
        "games": STANDARD_IE,
        "medicine": REDUCED_IE,
        "music": STANDARD_IE,
        "tickets": REDUCED_IE,
        "tools": STANDARD_IE,
        "toys": STANDARD_IE,
    },
    "IT": {
        "books": REDUCED_IT,
        "clothes": STANDARD_IT,
        "cosmetics": STANDARD_IT,
        "electronics": STANDARD_IT,
        "food": REDUCED_IT,
        "furniture": STANDARD_IT,
        "games": STANDARD_IT,
        "medicine": REDUCED_IT,
        "music": STANDARD_IT,
        "tickets": REDUCED_IT,
        "tools": STANDARD_IT,
        "toys": STANDARD_IT,
    },
    "LT": {
        "books": REDUCED_LT,
        "clothes": STANDARD_LT,
        "cosmetics": STANDARD_LT,
        "electronics": STANDARD_LT,
        "food": REDUCED_LT,
        "furniture": STANDARD_LT,
        "games": STANDARD_LT,
        "medicine": REDUCED_LT,
        "music": STANDARD_LT,
        "tickets": REDUCED_LT,
        "tools": STANDARD_LT,
        "toys": STANDARD_LT,
    },
    "LU": {
        "books": REDUCED_LU,
        "clothes": STANDARD_LU,
        "cosmetics": STANDARD_LU,
        "electronics": STANDARD_LU,
        "food": REDUCED_LU,
        "furniture": STANDARD_LU,
        "games": STANDARD_LU,
        "medicine": REDUCED_LU,
        "music": STANDARD_LU,
        "tickets": REDUCED_LU,
        "tools": STANDARD_LU,
        "toys": STANDARD_LU,
    },
    "LV": {
        "books": REDUCED_LV,
        "clothes": STANDARD_LV,
        "cosmetics": STANDARD_LV,
        "electronics": STANDARD_LV,
        "food": REDUCED_LV,
        "furniture": STANDARD_LV,
        "games": STANDARD_LV,
        "medicine": REDUCED_LV,
        "music": STANDARD_LV,
        "tickets": REDUCED_LV,
        "tools": STANDARD_LV,
        "toys": STANDARD_LV,
    },
    "MT": {
        "books": REDUCED_MT,
        "clothes": STANDARD_MT,
        "cosmetics": STANDARD_MT,
        "electronics": STANDARD_MT,
        "food": REDUCED_MT,
        "furniture": STANDARD_MT,
        "games": STANDARD_MT,
        "medicine": REDUCED_MT,
        "music": STANDARD_MT,
        "tickets": REDUCED_MT,
        "tools": STANDARD_MT,
        "toys": STANDARD_MT,
    },
    "NL": {
        "books": REDUCED_NL,
        "clothes": STANDARD_NL,
        "cosmetics": STANDARD_NL,
        "electronics": STANDARD_NL,
        "food": REDUCED_NL,
        "furniture": STANDARD_NL,
        "games": STANDARD_NL,
        "medicine": REDUCED_NL,
        "music": STANDARD_NL,
        "tickets": REDUCED_NL,
        "tools": STANDARD_NL,
        "toys": STANDARD_NL,
    },
    "PL": {
        "books": REDUCED_PL,
        "clothes": STANDARD_PL,
        "cosmetics": STANDARD_PL,
        "electronics": STANDARD_PL,
        "food": REDUCED_PL,
        "furniture": STANDARD_PL,
        "games": STANDARD_PL,
        "medicine": REDUCED_PL,
        "music": STANDARD_PL,
        "tickets": REDUCED_PL,
        "tools": STANDARD_PL,
        "toys": STANDARD_PL,
    },
    "PT": {
        "books": REDUCED_PT,
        "clothes": STANDARD_PT,
        "cosmetics": STANDARD_PT,
        "electronics": STANDARD_PT,
        "food": REDUCED_PT,
        "furniture": STANDARD_PT,
        "games": STANDARD_PT,
        "medicine": REDUCED_PT,
        "music": STANDARD_PT,
        "tickets": REDUCED_PT,
        "tools": STANDARD_PT,
        "toys": STANDARD_PT,
    },
    "RO": {
        "books": REDUCED_RO,
        "clothes": STANDARD_RO,
        "cosmetics": STANDARD_RO,
        "electronics": STANDARD_RO,
        "food": REDUCED_RO,
        "furniture": STANDARD_RO,
        "games": STANDARD_RO,
        "medicine": REDUCED_RO,
        "music": STANDARD_RO,
        "tickets": REDUCED_RO,
        "tools": STANDARD_RO,
        "toys": STANDARD_RO,
    },
    "SE": {
        "books": REDUCED_SE,
        "clothes": STANDARD_SE,
        "cosmetics": STANDARD_SE,
        "electronics": STANDARD_SE,
        "food": REDUCED_SE,
        "furniture": STANDARD_SE,
        "games": STANDARD_SE,
        "medicine": REDUCED_SE,
        "music": STANDARD_SE,
        "tickets": REDUCED_SE,
        "tools": STANDARD_SE,
        "toys": STANDARD_SE,
    },
    "SI": {
        "books": REDUCED_SI,
        "clothes": STANDARD_SI,
        "cosmetics": STANDARD_SI,
        "electronics": STANDARD_SI,
        "food": REDUCED_SI,
        "furniture": STANDARD_SI,
        "games": STANDARD_SI,
        "medicine": REDUCED_SI,
        "music": STANDARD_SI,
        "tickets": REDUCED_SI,
        "tools": STANDARD_SI,
        "toys": STANDARD_SI,
    },
    "SK": {
        "books": REDUCED_SK,
        "clothes": STANDARD_SK,
        "cosmetics": STANDARD_SK,
        "electronics": STANDARD_SK,
        "food": REDUCED_SK,
        "furniture": STANDARD_SK,
        "games": STANDARD_SK,
        "medicine": REDUCED_SK,
        "music": STANDARD_SK,
        "tickets": REDUCED_SK,
        "tools": STANDARD_SK,
        "toys": STANDARD_SK,
    },
}


class UnknownRate(KeyError):
    """No rate is known for a country and category."""


def rate_of(category: str, country: str) -> float:
    """The rate of a category in a country."""
    try:
        return RATES[country][category]
    except KeyError:
        raise UnknownRate(f"{category} in {country}") from None


def countries() -> list[str]:
    """Where the shop sells."""
    return sorted(RATES)
