"""How much a rule found, whatever its form: counted of every attack."""

from decloak.data.forms import FormName
from decloak.measure.family import POOLED, AttackedRelease, Family, FigureTitle, Measured
from decloak.releases.held import HeldRelease
from decloak.store.reading import lacks_context
from decloak.store.strikes import findings_count

__all__ = ["FAMILY"]

HIDDEN = (
    "no transaction with a generalised item shows an item in the clear, so there is nothing to go by: "
    "no cell has a score"
)


def _measure(attacked: AttackedRelease[HeldRelease]) -> Measured:
    """How much an attack found, and why it can have found nothing."""
    count = findings_count(attacked.connection, attacked.number)
    hidden = attacked.idle and lacks_context(attacked.connection, attacked.number)
    return [(POOLED, "findings", count, count, None)], HIDDEN if hidden else attacked.idle


FAMILY = Family(
    name="findings",
    about="What a rule finds; always counted",
    figures=(FigureTitle("findings", "findings", "what a rule found, such as itemsets too rare for k^m", count=True),),
    measure=_measure,
    fits=frozenset(FormName),
    always=True,
)
