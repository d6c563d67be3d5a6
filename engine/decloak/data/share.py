"""Shares that are printed as floats and compared exactly."""

import operator
from collections.abc import Callable
from fractions import Fraction
from numbers import Rational
from typing import Any, Self

__all__ = ["Share"]


def _exactly(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The comparison of a share with what is on the other side."""

    def compared(share: "Share", value: Any) -> Any:
        if isinstance(value, Share):
            return compare(share.exact, value.exact)
        return compare(share.exact if isinstance(value, Rational) else float(share), value)

    return compared


class Share(float):
    """A float that knows the fraction it stands for: it is printed and reckoned with as a float, and compared with
    fractions, whole numbers and other shares exactly.

    With a float that is no share it is compared as a float, so that it equals what it prints. No hash can agree with
    both: 1/3 as a float and as a fraction differ. It is that of the fraction, so that equal shares are one in a set.
    A share too small for a float is 0.0, yet not equal to 0 and not false.

    >>> third = Share(Fraction(1, 3))
    >>> third, f"{third:.4f}", third.exact
    (0.3333333333333333, '0.3333', Fraction(1, 3))
    >>> third == Fraction(1, 3) and Fraction(1, 3) == third and third == 1 / 3
    True
    """

    exact: Fraction

    def __new__(cls, exact: Rational | float) -> Self:
        share = super().__new__(cls, exact)
        share.exact = Fraction(exact)
        return share

    # A fraction on the left of == or < takes what it compares with for a float, asks for its real part, and then for
    # the ratio of that.
    @property
    def real(self) -> Self:
        return self

    def as_integer_ratio(self) -> tuple[int, int]:
        return self.exact.as_integer_ratio()

    __eq__ = _exactly(operator.eq)
    __ne__ = _exactly(operator.ne)
    __lt__ = _exactly(operator.lt)
    __le__ = _exactly(operator.le)
    __gt__ = _exactly(operator.gt)
    __ge__ = _exactly(operator.ge)

    def __hash__(self) -> int:
        return hash(self.exact)

    def __bool__(self) -> bool:
        return bool(self.exact)
