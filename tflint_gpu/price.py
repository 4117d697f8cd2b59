"""What an hour costs, as a setting says it: `2.49`, `"2.49 EUR"`."""

from __future__ import annotations

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

_PRICE = regex(r"(\d+(?:\.\d+)?)(?: ?([^\W\d_]{1,8}|[$€£¥]))?")


@dataclass(frozen=True, slots=True)
class Price:
    """An amount of money; the currency may be empty."""

    amount: float
    currency: str = ""

    @classmethod
    def read(cls, text: str) -> Price | None:
        """What a text says; None where that is no price above 0."""
        match = _PRICE.fullmatch(text.strip())
        if match is None or float(match[1]) <= 0:
            return None
        return cls(float(match[1]), match[2] or "")

    def __str__(self) -> str:
        places = 2 if self.amount >= 0.1 or not self.amount else 4  # a run of seconds costs little
        return f"{self.amount:,.{places}f} {self.currency}".rstrip()

    def times(self, factor: float) -> Price:
        """So many hours at this price."""
        return Price(self.amount * factor, self.currency)
