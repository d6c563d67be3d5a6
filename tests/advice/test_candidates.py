"""The decision of an advice: dominated candidates, brute force over random tables, and what never leads."""

import random
from types import SimpleNamespace

import pytest

from decloak.advice import screen
from decloak.advice.candidates import (
    READERS,
    Candidate,
    OwnerInputs,
    Tried,
    candidates_for,
    chosen,
    nearest_changes,
    not_applicable,
    undominated,
)
from decloak.errors import DecloakError
from decloak.scenario.criteria import PRESETS, Criterion, Ranged, accepted

CRITERIA = (Criterion("exposed_3", 0.01, "test"), Criterion("inference_advantage", 0.05, "test"))


def differ(one, other, pairs):
    return abs(one.error - other.error) > 0.01


def tried(name, error, exposed=0.0, advantage=0.0, hidden=0.5, kind="disassociation", **settings):
    figures = {
        "count_error": Ranged(error, error),
        "exposed_3": Ranged(exposed, exposed),
        "inference_advantage": Ranged(advantage, advantage + 0.01),
        "hidden": Ranged(hidden, hidden),
    }
    return Tried(Candidate(kind, name, settings, "random"), figures)


def naively_dominated(one, others, criteria):
    """No figure of another candidate is worse, and one is better."""

    def figures(of):
        return [of.error, *(of.figures[criterion.figure].high for criterion in criteria)]

    return any(
        all(a <= b for a, b in zip(figures(other), figures(one), strict=True)) and figures(other) != figures(one)
        for other in others
    )


@pytest.mark.parametrize("seed", range(200))
def test_the_leading_candidate_is_never_dominated_and_never_hides_everything(seed):
    chance = random.Random(seed)
    shares = [0, 0.001, 0.005, 0.01, 0.02, 0.2]
    table = [
        tried(
            str(number), chance.choice([0.1, 0.105, 0.2, 0.5, 1.0]), chance.choice(shares), chance.choice(shares),
            chance.choice([0.3, 0.5, 1.0]),
        )
        for number in range(chance.randrange(1, 15))
    ]  # fmt: skip
    showing = [one for one in table if one.error < 0.9 and one.figures["hidden"].value < 0.99]
    lead, passes = chosen(table, CRITERIA, differ)
    if not showing:
        assert (lead, passes) == (None, False)
        return
    assert lead in showing
    assert not naively_dominated(lead, showing, CRITERIA)
    meeting = [
        one for one in showing
        if all(one.figures[criterion.figure].high <= criterion.limit + 1e-9 for criterion in CRITERIA)
    ]  # fmt: skip
    assert passes == bool(meeting)
    if passes:
        assert lead in meeting
        assert lead.error <= min(one.error for one in meeting) + 0.01
    else:
        worst = {id(one): max(criterion.ratio(one.figures) for criterion in CRITERIA) for one in showing}
        assert worst[id(lead)] == min(
            worst[id(one)] for one in showing if not naively_dominated(one, showing, CRITERIA)
        )
    assert {id(one) for one in undominated(table, CRITERIA)} == {
        id(one) for one in showing if not naively_dominated(one, showing, CRITERIA)
    }


def test_among_equal_errors_fewer_people_then_less_hidden_then_the_plainer_method_leads():
    exposes = tried("exposes", 0.100, exposed=0.005)
    hides = tried("hides", 0.102, hidden=0.9, advantage=0.002)
    shows = tried("shows", 0.104, hidden=0.4, advantage=0.001)
    plain = tried("plain", 0.104, hidden=0.4, advantage=0.001, kind="generalisation")
    assert chosen([exposes, hides, shows], CRITERIA, differ)[0] is shows
    assert chosen([exposes, hides, shows, plain], CRITERIA, differ)[0] is plain
    assert chosen([tried("less", 0.05), hides], CRITERIA, differ)[0].candidate.name == "less"


def test_a_criterion_is_judged_by_the_upper_end_of_the_interval():
    criterion = Criterion("inference_advantage", 0.05, "test")
    states = [
        criterion.state({"inference_advantage": Ranged(*ends)}) for ends in ((0.04, 0.05), (0.04, 0.06), (0.06, 0.07))
    ]
    assert states == ["met", "inconclusive", "exceeded"]
    assert criterion.state({}) == "not measured"
    assert not tried("x", 0.1).meets((*CRITERIA, Criterion("membership_auc", 0.55, "test")))


def test_a_limit_of_nobody_has_a_ratio_too():
    criterion = Criterion("exposed_3", 0, "test")
    ratios = [criterion.ratio({"exposed_3": Ranged(share, share)}) for share in (0, 0.0005, 0.002)]
    assert ratios == [0, 0.5, 2]
    assert criterion.state({"exposed_3": Ranged(0.0005, 0.0005)}) == "exceeded"
    assert criterion.ratio({}) == float("inf")


def test_the_changes_of_one_setting_are_found():
    table = [tried(f"{k}/{size}", 0.1, k=k, size=size) for k in (3, 5) for size in (50, 200)]
    assert [one.candidate.name for one in nearest_changes(table[0], table)] == ["3/200", "5/50"]


def test_criteria_are_read():
    assert accepted(["public"]).criteria == PRESETS["public"]
    by = accepted(["exposed_3 <= 2%", "membership_auc ≤ 0.6"])
    assert [(one.figure, one.limit) for one in by.criteria] == [("exposed_3", 0.02), ("membership_auc", 0.6)]
    assert by.criteria[0].expectations({"exposed_3": Ranged(0, 0)}) == ("exposed_3 <= 2%",)
    assert by.criteria[0].expectations({}) == ()
    for wrong, message in (
        ("publik", "did you mean 'public'"), ("exposd_3 <= 1%", "did you mean 'exposed_3'"), ("x", "write such as"),
    ):  # fmt: skip
        with pytest.raises(DecloakError) as caught:
            accepted([wrong])
        assert message in str(caught.value)


def test_a_file_of_criteria_has_a_reason_for_each(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("- {figure: exposed_3, limit: 5%, reason: 'a contract with each reader'}\n")
    (criterion,) = accepted([str(file)]).criteria
    assert (criterion.limit, criterion.source) == (0.05, "a contract with each reader")
    for text in (
        "[]",
        "- {figure: exposed_3, limit: 5%}",
        "figure: exposed_3",
        "- [",
        "- {figure: x, limit: 1, reason: y}",
    ):
        file.write_text(text)
        with pytest.raises(DecloakError):
            accepted([str(file)])
    with pytest.raises(DecloakError):
        accepted([str(tmp_path / "none.yaml")])


def test_one_of_every_method_is_tried_before_the_second_of_any():
    listed = candidates_for(30_000, OwnerInputs(constraints="c.txt"))
    assert [one.anonymise["method"] for one in listed[:4]] == ["disassociation", "cut", "lra", "coat"]
    assert len({one.name for one in listed}) == len(listed)
    assert {one.anonymise.get("max_cluster") for one in candidates_for(800, OwnerInputs())} == {50, 200, None}
    untried = [one.name for one in not_applicable(800, OwnerInputs())]
    assert {"clusters of 1,000, 5,000", "COAT"} <= set(untried)


def test_readers_decide_which_methods_are_tried():
    methods = {
        readers: {one.anonymise["method"] for one in candidates_for(800, OwnerInputs(readers=readers))}
        for readers in READERS
    }
    assert methods["counts"] == {"itemsets", "synthetic"}
    assert methods["any"] == methods["records"] | methods["counts"]
    assert not methods["records"] & methods["counts"]
    assert [one.reason for one in not_applicable(800, OwnerInputs(readers="counts"))] == ["readers only count"]
    assert "readers need records" in {one.reason for one in not_applicable(800, OwnerInputs(readers="records"))}


def test_inputs_of_the_owner_add_candidates():
    relate = {"measure": "ngd", "source": "clinic-counts"}
    inputs = OwnerInputs(("/secret/tree.txt",), "c.txt", sensitive=["hiv"], relate=relate, columns=["sex"])
    listed = candidates_for(800, inputs)
    assert {"cut k = 5, m = 3, by tree.txt", "diversity l = 3, m = 2, by relatedness"} <= {one.name for one in listed}
    of_coat = [one.anonymise for one in listed if one.kind == "coat"]
    assert [one["utility"] for one in of_coat] == [{"columns": ["sex"]}] * 4
    assert [one.get("partner") for one in of_coat] == [None, None, "hard", "hard"]
    untried = {one.name for one in not_applicable(800, inputs)}
    assert not untried & {"COAT", "your hierarchy", "diversity", "attackers who know what items mean"}
    assert {"diversity", "attackers who know what items mean", "4 known items"} <= {
        one.name for one in not_applicable(800, OwnerInputs())
    }


@pytest.mark.parametrize(("of", "said"), [(250, "2 known items 240 of 250 people."), (201, "2 known items 240.")])
def test_a_number_of_other_people_says_of_how_many(of, said):
    counts = {"exposed_3_original": Ranged(1.0, 1.0, 201, 201), "exposed_2_original": Ranged(1.0, 1.0, 240, of)}
    advice = SimpleNamespace(tried=[SimpleNamespace(figures=counts)], records=250, items=9, control=0, drawn_from=None)
    assert " ".join(" ".join(screen._head(advice)).split()).endswith(said)
