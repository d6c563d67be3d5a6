"""The glossary of a page: terms of the field, and their first use in a text."""

import re
from html import escape

__all__ = ["GLOSSARY", "marked_terms"]

GLOSSARY = {
    "advantage": "Precision minus baseline, in percentage points.",
    "baseline": "The expected result of random guessing.",
    "certain link": "A link with a stated probability of at least 80%.",
    "eliminated": "Removed by an attack as an added member of a generalised item.",
    "exposed": "An attacker finds the record of a person with a probability above 1/11.",
    "implied": "Known items prove a further item with certainty.",
    "inferred": "Guessed correctly by an attacker.",
    "k^m-anonymity": "Every set of up to m items is in no record or in at least k records.",
    "knowledge level": "The knowledge of an attacker: nothing, language, release, sample or person.",
    "negative control": "The attack with permuted input. It must not be better than random guessing.",
    "normalised advantage": "(Precision - baseline) / (1 - baseline): 0 is random, 1 is always correct.",
    "precision": "Correct eliminations divided by all eliminations.",
    "re-associated": "Put together again: parts of a record that the release splits.",
    "recall": "Correct eliminations divided by all added members.",
    "singled out": "Only one candidate record fits the known items.",
    "suppressed": "Left out of the release.",
}
"""Each term with its definition, in alphabetical order."""
_TERM = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(map(re.escape, GLOSSARY), key=len, reverse=True))})(?![\w-])")


def marked_terms(text: str) -> str:
    """Return `text` as HTML: escaped, with the definition of each term at its first use."""
    used = set[str]()

    def marked(found: re.Match[str]) -> str:
        term = found[0]
        if term in used:
            return term
        used.add(term)
        return f'<abbr title="{escape(GLOSSARY[term])}">{term}</abbr>'

    return _TERM.sub(marked, escape(text))
