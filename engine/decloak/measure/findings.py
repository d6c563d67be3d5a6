"""How much a rule found, whatever its form: counted of every attack."""

from decloak.data.forms import FormName
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, Attacked, Family, MetricResult
from decloak.store.assigned import findings_count
from decloak.store.reading import hides_nothing, lacks_context

BARE = "no record contains a generalised item, so the attack had nothing to eliminate"
HIDDEN = "no record with a generalised item has a published item, so the attack has no evidence: no cell has a score"


def _measure(attacked: Attacked) -> MetricResult:
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
    about="Findings of a rule; always counted",
    metrics=metrics_of("findings"),
    measure=_measure,
    fits=frozenset(FormName),
    always_measured=True,
)
