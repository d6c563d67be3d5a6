"""Ratios that are printed as floats and compared exactly."""

import operator
from collections.abc import Callable
from fractions import Fraction
from numbers import Rational
from typing import Any, Self


def _exactly(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a comparison of a ratio with any number: exact with rationals, as floats otherwise."""

    def compared(share: "ExactRatio", value: Any) -> Any:
        if isinstance(value, ExactRatio):
            return compare(share.exact, value.exact)
        # A float on the other side is rounded already: an exact comparison would call equal prints different.
        return compare(share.exact if isinstance(value, Rational) else float(share), value)

    return compared


class ExactRatio(float):
    """A float that stores its exact fraction. It is printed and calculated with as a float, and compared exactly with
    fractions, integers and other ratios.

    With an ordinary float it is compared as a float, so that it equals the number it prints. No hash can agree with
    both: 1/3 as a float and as a fraction differ. The hash is the hash of the fraction, so that equal ratios are one
    element of a set. A ratio too small for a float is 0.0, yet not equal to 0 and not false.

    >>> third = ExactRatio(Fraction(1, 3))
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
        """The ratio itself: a fraction on the left of == asks for it."""
        return self

    def as_integer_ratio(self) -> tuple[int, int]:
        """Return the numerator and the denominator of the exact fraction."""
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
