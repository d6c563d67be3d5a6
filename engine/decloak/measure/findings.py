"""How much a rule found, whatever its form: counted of every attack."""

from decloak.data.forms import FormName
from decloak.measure.family import POOLED, AttackedRelease, Family, FigureTitle, Measured
from decloak.releases.held import HeldRelease
from decloak.store.reading import hides_nothing, lacks_context
from decloak.store.strikes import findings_count

__all__ = ["FAMILY"]

BARE = "no record shows a generalised item: each item stands for itself, so there was nothing to strike"
HIDDEN = (
    "no transaction with a generalised item shows an item in the clear, so there is nothing to go by: "
    "no cell has a score"
)


def _measure(attacked: AttackedRelease[HeldRelease]) -> Measured:
    """How much an attack found, and why it can have found nothing."""
    count = findings_count(attacked.connection, attacked.number)
    note = attacked.idle
    if note and hides_nothing(attacked.connection, attacked.number):
        note = BARE
    elif note and lacks_context(attacked.connection, attacked.number):
        note = HIDDEN
    return [(POOLED, "findings", count, count, None)], note


FAMILY = Family(
    name="findings",
    about="What a rule finds; always counted",
    figures=(FigureTitle("findings", "findings", "what a rule found, such as itemsets too rare for k^m", count=True),),
    measure=_measure,
    fits=frozenset(FormName),
    always=True,
)
