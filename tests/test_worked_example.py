"""The running example of both documents, figure by figure.

"Paper" is Shao and Ong 2017, "thesis" is Ong 2015. Weights are printed with two decimals, so a value agrees when
it is within half a hundredth; "-" is an eliminated item. Figures without numbers (paper 7; thesis 4.5, 4.14) and
the schematic ones (paper 3; thesis 3.5, 4.6) have nothing to check.
"""

import numpy as np
import pytest

from decloak.rules.eliminate.groups import largest_gap
from decloak.rules.eliminate.kernel import eliminate
from published_attacks import ATTACKS, cells, groups

BP, ICD, LIMBS, INJURY = range(4)
ITEMS = ("blood pressure", "icd", "limbs", "injury")

FIG_4 = """
0.56 0.78 1.57 2.19
1.75 0.58 1.74 1.53
2.60 2.93 1.78 1.49
1.60 1.51 1.89 1.03
"""


def table(text):
    """A printed table, NaN for a dash; a weight may be a fraction."""

    def number(word):
        top, _, bottom = word.partition("/")
        return float("nan") if word == "-" else float(top) / float(bottom or 1)

    return np.array([[number(word) for word in line.split()] for line in text.split("\n") if line])


def pairs(text):
    """A printed table of row:column weights as two tables."""
    words = [[word.split(":") for word in line.split()] for line in text.split("\n") if line]
    return [table("\n".join(" ".join(word[part] for word in line) for line in words)) for part in (0, 1)]


def attacked(name, **settings):
    (done,) = eliminate([table(FIG_4)], ATTACKS[name], **settings)
    return done


def prints(values, text):
    """Whether values are printed as the text, to half a unit of its last digit."""
    np.testing.assert_allclose(values, table(text), rtol=0, atol=0.005 + 1e-9)


def weighs(done, text):
    """Whether the row:column weights are exactly the printed fractions."""
    row, col = pairs(text)
    np.testing.assert_allclose(done.row_weight, row, rtol=0, atol=1e-12)
    np.testing.assert_allclose(done.col_weight, col, rtol=0, atol=1e-12)


def eliminated(done):
    """The items eliminated from each of the four transactions."""
    return [{ITEMS[item] for row, item in cells(done) if row == number} for number in range(4)]


def test_paper_fig_4_and_thesis_fig_3_6_largest_distance_is_gangrene_and_icd():
    done = attacked("mda")
    assert cells(done) == [(2, ICD)]
    assert done.steps.suspicion.tolist() == [2.93]


def test_paper_definition_5_2_gaps_of_the_second_and_third_row():
    np.testing.assert_allclose(largest_gap(table(FIG_4))[1:3], [0.95, 0.82], atol=1e-9)


def test_paper_section_5_1_gba_threshold_and_first_group():
    done = attacked("gba")
    assert done.threshold == pytest.approx(0.45, abs=0.005)
    assert (groups(done)[0], cells(done)[0]) == ("c1", (2, ICD))
    assert done.steps.suspicion[0] == pytest.approx(0.80, abs=0.005)


FIG_5A = """
1/4:1/4 1/4:1/3 1/4:1/4 1/4:1/4
1/4:1/4 1/4:1/3 1/4:1/4 1/4:1/4
1/3:1/4 -:-     1/3:1/4 1/3:1/4
1/4:1/4 1/4:1/3 1/4:1/4 1/4:1/4
"""
FIG_5B = """
0.32 0.39 0.88 1.23
0.98 0.29 0.98 0.86
1.30 -    0.89 0.75
0.90 0.76 1.06 0.58
"""


def test_paper_fig_5a_row_and_column_weights_after_first_gba_round():
    weighs(attacked("gba", rounds=1), FIG_5A)


def test_paper_fig_5b_weighted_table_after_first_gba_round():
    prints(attacked("gba", rounds=1).weight, FIG_5B)


FIG_6A = """
1/3:1/2 1/3:1/3 1/3:1/3 -:-
-:-     1/2:1/3 -:-     1/2:1/3
-:-     -:-     1/2:1/3 1/2:1/3
1/4:1/2 1/4:1/3 1/4:1/3 1/4:1/3
"""
FIG_6B = """
0.19 0.35 0.70 -
-    0.19 -    0.51
-    -    0.59 0.50
0.60 0.76 0.95 0.52
"""


def test_paper_fig_6a_row_and_column_weights_after_the_fifth_gba_round():
    done = attacked("gba")
    assert len(done.steps.round) == 5
    weighs(done, FIG_6A)


def test_paper_fig_6b_weighted_table_after_the_fifth_gba_round():
    prints(attacked("gba").weight, FIG_6B)


def gaps(done):
    """V of the four rows and the four columns."""
    return np.append(largest_gap(done.weight), largest_gap(done.weight.T))


def test_paper_fig_6_gba_stops_at_0_41_of_the_blood_pressure_column():
    left = gaps(attacked("gba"))
    assert left.argmax() == 4 + BP
    assert left.max() == pytest.approx(0.41, abs=0.005)


def test_gba_eliminates_the_items_of_the_example_in_order():
    done = attacked("gba")
    assert cells(done) == [(2, ICD), (2, BP), (1, LIMBS), (1, BP), (0, INJURY)]
    assert groups(done) == ["c1", "c0", "r1", "r1", "c3"]
    np.testing.assert_allclose(done.steps.suspicion, [0.80, 0.59, 0.57, 0.51, 0.65], atol=0.005 + 1e-9)


FIG_8A = """
1/4:1/4 1/4:1/3 1/4:1/4 1/4:1/4
1/4:1/4 1/4:1/3 1/4:1/4 1/4:1/4
1/4:1/4 -:-     3/8:1/4 3/8:1/4
1/4:1/4 1/4:1/3 1/4:1/4 1/4:1/4
"""
FIG_8B = """
0.32 0.39 0.88 1.23
0.98 0.29 0.98 0.86
1.46 -    0.83 0.70
0.90 0.76 1.06 0.58
"""


def test_paper_fig_8a_row_and_column_weights_after_first_rba_round():
    weighs(attacked("rba", rounds=1), FIG_8A)


def test_paper_fig_8b_weighted_table_after_first_rba_round():
    prints(attacked("rba", rounds=1).weight, FIG_8B)


FIG_9A = """
1/2:1.0 1/2:1/2 -:-     -:-
-:-     1.0:1/2 -:-     -:-
-:-     -:-     1/2:1.0 1/2:1/2
-:-     -:-     -:-     1.0:1/2
"""
FIG_9B = """
0.0 0.20 -   -
-   0.0  -   -
-   -    0.0 0.37
-   -    -   0.0
"""


def test_paper_fig_9a_row_and_column_weights_after_the_tenth_rba_round():
    done = attacked("rba")
    assert len(done.steps.round) == 10
    weighs(done, FIG_9A)


def test_paper_fig_9b_weighted_table_after_the_tenth_rba_round():
    prints(attacked("rba").weight, FIG_9B)


def test_paper_fig_9_rba_stops_below_its_threshold():
    done = attacked("rba")
    assert done.threshold == pytest.approx(0.45, abs=0.005)
    assert gaps(done).max() == pytest.approx(0.37, abs=0.005)


def test_rba_eliminates_the_items_of_the_example_in_order():
    done = attacked("rba")
    assert cells(done) == [
        (2, ICD), (2, BP), (1, BP), (3, BP), (1, LIMBS), (1, INJURY), (0, INJURY), (0, LIMBS), (3, LIMBS), (3, ICD),
    ]  # fmt: skip
    assert groups(done) == ["c1", "r2", "c0", "c0", "r1", "r1", "c3", "r0", "c2", "r3"]
    printed = [0.80, 0.63, 0.69, 0.80, 0.67, 0.76, 0.77, 0.56, 0.84, 0.63]
    np.testing.assert_allclose(done.steps.suspicion, printed, atol=0.005 + 1e-9)


def test_thesis_fig_4_1_mda_eliminates_icd_from_t3():
    kept = np.where(attacked("mda").kept, table(FIG_4), np.nan)
    prints(kept, FIG_4.replace("2.93", "-"))


def test_thesis_fig_4_2_transactions_after_mda():
    assert eliminated(attacked("mda")) == [set(), set(), {"icd"}, set()]


def test_thesis_fig_4_3_table_after_tba_with_its_rounded_threshold():
    kept = np.where(attacked("tba", threshold=1.60).kept, table(FIG_4), np.nan)
    prints(kept, "0.56 0.78 1.57 -\n- 0.58 - 1.53\n- - - 1.49\n1.60 1.51 - 1.03")


def test_thesis_equation_4_3_mean_distance_is_1_60_when_rounded():
    assert attacked("tba").threshold == pytest.approx(1.595625)


def test_thesis_fig_4_4_transactions_after_tba():
    done = attacked("tba", threshold=1.60)
    assert eliminated(done) == [{"injury"}, {"blood pressure", "limbs"}, {"blood pressure", "icd", "limbs"}, {"limbs"}]


ALL_QUARTERS = "1/4:1/4 1/4:1/4 1/4:1/4 1/4:1/4\n" * 4


@pytest.mark.parametrize("name", ["wba", "gba", "rba"])
def test_thesis_fig_4_7_ab_initial_weights(name):
    weighs(attacked(name, rounds=0), ALL_QUARTERS)


@pytest.mark.parametrize("name", ["wba", "gba", "rba"])
def test_thesis_fig_4_7_c_initial_weighted_table(name):
    prints(
        attacked(name, rounds=0).weight,
        "0.32 0.44 0.88 1.23\n0.98 0.33 0.98 0.86\n1.46 1.65 1.00 0.84\n0.90 0.85 1.06 0.58",
    )


def test_thesis_section_4_3_wba_threshold():
    assert attacked("wba").threshold == pytest.approx(0.90, abs=0.005)


def test_thesis_fig_4_8_ab_weights_after_first_wba_round():
    weighs(attacked("wba", rounds=1), FIG_5A)


def test_thesis_fig_4_8_c_weighted_table_after_first_wba_round():
    prints(attacked("wba", rounds=1).weight, FIG_5B)


def test_thesis_fig_4_9_ab_weights_after_the_fourth_wba_round():
    done = attacked("wba")
    assert len(done.steps.round) == 4
    weighs(
        done,
        """
1/3:1/3 1/3:1/3 1/3:1/3 -:-
1/4:1/3 1/4:1/3 1/4:1/3 1/4:1/3
-:-     -:-     1/2:1/3 1/2:1/3
1/3:1/3 1/3:1/3 -:-     1/3:1/3
""",
    )


def test_thesis_fig_4_9_c_weighted_table_after_the_fourth_wba_round():
    prints(
        attacked("wba").weight,
        "0.25 0.35 0.70 -\n0.88 0.29 0.87 0.77\n- - 0.59 0.50\n0.71 0.67 - 0.46",
    )


def test_wba_eliminates_the_items_of_the_example_in_order_and_stops_at_0_875():
    done = attacked("wba")
    assert cells(done) == [(2, ICD), (2, BP), (0, INJURY), (3, LIMBS)]
    np.testing.assert_allclose(done.steps.suspicion, [1.65, 1.30, 1.23, 1.06], atol=0.005 + 1e-9)
    assert np.nanmax(done.weight) == pytest.approx(0.875)


def test_thesis_fig_4_10_transactions_after_wba():
    assert eliminated(attacked("wba")) == [{"injury"}, set(), {"blood pressure", "icd"}, {"limbs"}]


def test_thesis_fig_4_11_ab_weights_after_first_gba_round():
    weighs(attacked("gba", rounds=1), FIG_5A)


def test_thesis_fig_4_11_c_weighted_table_after_first_gba_round():
    prints(attacked("gba", rounds=1).weight, FIG_5B)


def test_thesis_fig_4_12_ab_weights_after_the_fifth_gba_round():
    weighs(attacked("gba", rounds=5), FIG_6A)


def test_thesis_fig_4_12_c_weighted_table_after_the_fifth_gba_round():
    prints(attacked("gba", rounds=5).weight, FIG_6B)


def test_thesis_fig_4_13_transactions_after_gba():
    assert eliminated(attacked("gba")) == [{"injury"}, {"blood pressure", "limbs"}, {"blood pressure", "icd"}, set()]


def test_thesis_fig_4_15_ab_weights_after_first_rba_round():
    weighs(attacked("rba", rounds=1), FIG_8A)


def test_thesis_fig_4_15_c_weighted_table_after_first_rba_round():
    prints(attacked("rba", rounds=1).weight, FIG_8B)


def test_thesis_fig_4_16_ab_weights_after_the_second_rba_round():
    weighs(
        attacked("rba", rounds=2),
        """
1/4:1/2 1/4:1/3 1/4:1/4 1/4:1/4
1/4:1/4 1/4:1/3 1/4:1/4 1/4:1/4
-:-     -:-     1/2:1/4 1/2:1/4
1/4:1/4 1/4:1/3 1/4:1/4 1/4:1/4
""",
    )


def test_thesis_fig_4_16_c_weighted_table_after_the_second_rba_round():
    prints(
        attacked("rba", rounds=2).weight,
        "0.21 0.39 0.88 1.23\n0.98 0.29 0.98 0.86\n- - 0.67 0.56\n0.90 0.76 1.06 0.58",
    )


def test_thesis_fig_4_17_ab_weights_after_the_tenth_rba_round():
    weighs(attacked("rba", rounds=10), FIG_9A)


def test_thesis_fig_4_17_c_weighted_table_after_the_tenth_rba_round():
    prints(attacked("rba", rounds=10).weight, FIG_9B)


def test_thesis_fig_4_18_transactions_after_rba_are_the_originals():
    done = attacked("rba")
    left = [{item for number, item in enumerate(ITEMS) if done.kept[row, number]} for row in range(4)]
    assert left == [{"blood pressure", "icd"}, {"icd"}, {"limbs", "injury"}, {"injury"}]
