"""Which choices of an elimination attack go together, and what is said when they do not."""

import pytest

from decloak.errors import DecloakError
from decloak.rules.eliminate.strategy import Strategy
from published_attacks import ATTACKS, BY_COUNTS, BY_STORED, LINES, TABLE

HEAVIEST = TABLE | {"eliminate": "heaviest"}
FAULTS = {
    "groups": {
        "unknown choice 'rwo'; did you mean 'row'?": LINES | {"groups": ["rwo"]},
        "unknown choice 'cell'; choices are table, row, col": LINES | {"groups": ["cell"]},
        "groups are the table, or rows, columns or both": LINES | {"groups": []},
        "write [table], [row], [col] or [row, col]": LINES | {"groups": ["table", "row"]},
        "groups are the table, or rows, columns or both; write": LINES | {"groups": ["row", "row"]},
        "eliminate: all is one pass over the whole table; write groups: [table], or eliminate: heaviest": LINES
        | {"eliminate": "all"},
    },
    "suspicion": {
        "unknown choice 'largest_gpa'; did you mean 'largest_gap'?": LINES | {"suspicion": "largest_gpa"},
        "w differs from cell to cell": LINES | {"suspicion": "max(w) - w"},
        "unknown name 'row_left'": LINES | {"suspicion": "mean(w / row_left)"},
        "suspicion: random and eliminate: random go together": HEAVIEST | {"suspicion": "random"},
        "suspicion: random and eliminate: random go together; choose both": TABLE | {"eliminate": "random"},
        "eliminate: once takes the largest weight first": TABLE | {"suspicion": "largest_gap", "eliminate": "once"},
    },
    "threshold": {
        "d differs from cell to cell; write mean(d) or max(d)": HEAVIEST | {"threshold": "d"},
        "unknown name 'row_left'": HEAVIEST | {"threshold": "mean(row_left)"},
        "cannot read the formula ''": HEAVIEST | {"threshold": ""},
        "a random attack has no threshold": TABLE
        | {"suspicion": "random", "eliminate": "random", "threshold": "mean(d)"},
    },
    "eliminate": {
        "unknown choice 'coin'; write random": TABLE | {"eliminate": "coin"},
        "unknown choice 'heavyest'; did you mean 'heaviest'?": TABLE | {"eliminate": "heavyest"},
    },
    "redistribute": {
        "unknown choice 'lower_clutser'; did you mean 'lower_cluster'?": HEAVIEST | {"redistribute": "lower_clutser"},
        "weigh reads col_left, which only redistribute: all changes; write all": HEAVIEST | {"weigh": BY_COUNTS},
        "weigh reads col_weight, which only redistribute: lower_cluster changes": HEAVIEST
        | {"weigh": BY_STORED, "redistribute": "all"},
        "eliminate: all weighs each cell once": TABLE | {"eliminate": "all", "weigh": BY_COUNTS, "redistribute": "all"},
    },
    "weigh": {
        "redistribute: all changes col_left or row_left, which weigh does not read": HEAVIEST | {"redistribute": "all"},
        "redistribute: lower_cluster changes col_weight or row_weight": HEAVIEST | {"redistribute": "lower_cluster"},
        "unknown name 'D'": HEAVIEST | {"weigh": "D"},
        "unknown name 'rare' in a formula; did you mean 'rarity'?": HEAVIEST | {"weigh": "rare", "columns": ["rarity"]},
        "the column 'row_left' has the name of a quantity of the attack": HEAVIEST | {"columns": ["row_left"]},
        "a random attack ignores weights": TABLE | {"suspicion": "random", "eliminate": "random", "weigh": "d * 2"},
    },
}


@pytest.mark.parametrize(
    ("choice", "message"), [(choice, message) for choice, messages in FAULTS.items() for message in messages]
)
def test_a_misfit_is_answered_at_the_choice_at_fault(choice, message):
    with pytest.raises(DecloakError) as error:
        Strategy.build(**FAULTS[choice][message], places={choice: "my.yaml:3:7"})
    assert str(error.value).startswith("my.yaml:3:7: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_every_published_attack_can_be_built_anew_from_its_texts():
    rba = ATTACKS["rba"]
    again = Strategy.build(**LINES, weigh=rba.weigh.text, redistribute=rba.redistribute)
    assert again == rba
    assert len(set(ATTACKS.values())) == 6


def test_weights_may_be_all_equal():
    assert Strategy.build(**HEAVIEST, weigh="1").weigh.names == set()


def test_further_columns_are_those_weigh_reads():
    strategy = Strategy.build(**HEAVIEST, weigh="d * rarity", columns=["rarity", "length"])
    assert strategy.further_columns == ("rarity",)
