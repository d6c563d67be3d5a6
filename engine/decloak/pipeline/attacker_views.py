"""The attacker's view of one release: everything that an attack may read, computed when an attack asks for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from decloak.attacker.controls import Control
from decloak.attacker.selftrained import CalibrationTable, Learned, calibration_tables, learn_from_release
from decloak.data.assignment import PairScores
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.data.tables import Pair
from decloak.lazy import once
from decloak.pipeline.material import Material
from decloak.rules.load import untrusted_name
from decloak.rules.operators.attacker_view import AttackerView, ReleaseCache
from decloak.rules.operators.operator import Rule
from decloak.store.relations import RELATIONS
from decloak.store.sandbox_guard import empty_sandbox

__all__ = ["AttackerViews"]

COLUMNS = {name: relation.columns for name, relation in RELATIONS.items()}
"""The relations that rules may read, with their columns."""
LEARNT = {KnowledgeLevel.LANGUAGE, KnowledgeLevel.SAMPLE}
"""Sources of scores that a model is trained on. The release itself is what the model predicts."""

PairValues = Mapping[Pair, float | None]


class AttackerViews:
    """Views of one release for its attacks. What one attack learns, later attacks on the release reuse."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._relate, self._nearest = material.scenario.related_by, material.scenario.nearest
        self._cache = ReleaseCache()
        self._language_scores: tuple[Sequence[Pair], Sequence[PairValues]] | None = None
        self._learned: dict[Control | None, Learned] = {}

    def view(self, rule: Rule) -> AttackerView:
        """Return the view of `rule`, without a sandbox."""
        material, relate = self._material, self._relate
        release = material.release
        view = AttackerView(
            release=lambda: release.published,
            scores=lambda: material.scores or {},
            transactions=lambda: release.shown,
            distances=lambda: material.distances,
            calibration_tables=lambda: self.calibration_tables,
            scratch_sandbox=lambda: empty_sandbox(COLUMNS, untrusted_name(rule.name, rule.text)),
            cache=self._cache,
        )
        if relate is None:
            return view
        return replace(
            view,
            closer=relate.closer, unrelated=relate.unrelated, measure_scores=lambda: self.measure_scores,
            learned_probabilities=lambda control: dict(enumerate(self.learn(control).added)),
            training_tables=lambda control: self.learn(control).training,
        )  # fmt: skip

    @once
    def measure_scores(self) -> Sequence[PairScores]:
        """Return the scores of each measure of the attacker, if there are several."""
        material, relate = self._material, self._relate
        if relate is None or len(relate.parts) < 2:
            return ()
        scored = () if material.scored is None else material.scored.apart
        pairs = material.form.pairs(material.release, self._nearest)
        scored = scored or [part.related(pairs, material.supplies).scores for part in relate.parts]
        return [
            PairScores(scores, part.closer, part.unrelated) for scores, part in zip(scored, relate.parts, strict=True)
        ]

    @once
    def calibration_tables(self) -> Sequence[CalibrationTable] | str:
        """Return distance tables of the plain items of the release, or the reason why there are none."""
        material, relate = self._material, self._relate
        if relate is None:
            return "distance tables have no plain items to try the rule on"
        if KnowledgeLevel.RELEASE in relate.knowledge_levels:
            return "what a release shows of two plain items is more than it shows of generalised ones"
        if any(part.sends_to for part in relate.parts):
            return "the calculation would need further requests"
        tables = calibration_tables(
            material.release.published,
            material.tables,
            lambda pairs: relate.related(pairs, material.supplies).scores,
            self._nearest,
        )
        return tables or "there are too few plain items to try the rule on"

    def learn(self, control: Control | None) -> Learned:
        """Return the model learned from the plain items, trained once for each `control`."""
        if control not in self._learned:
            self._learned[control] = self._train(control)
        return self._learned[control]

    def _train(self, control: Control | None) -> Learned:
        material = self._material
        parts = [] if self._relate is None else [part for part in self._relate.parts if part.knowledge_level in LEARNT]
        return learn_from_release(
            material.release.published,
            material.tables,
            partial(self._score_by_each, parts),
            resemble=self._score_by_language,
            others=[row for part in parts for row in part.other_transactions(material.supplies)],
            nearest=self._nearest,
            control=control,
        )

    def _score_by_each(self, parts: Sequence[Any], pairs: Sequence[Pair]) -> Sequence[PairValues]:
        return [part.related(pairs, self._material.supplies).scores for part in parts]

    def _score_by_language(self, pairs: Sequence[Pair]) -> Sequence[PairValues]:
        """Score very many pairs by the sources that ask no service; the last result serves every control."""
        if self._language_scores is None or self._language_scores[0] != pairs:
            # The store keeps no counts of these pairs: there are far more of them than of the pairs that are attacked.
            supplies = self._material.supplies._replace(cache=None)
            parts = () if self._relate is None else self._relate.parts
            offline = [
                part for part in parts if part.knowledge_level is KnowledgeLevel.LANGUAGE and not part.queries_service
            ]
            self._language_scores = pairs, [part.related(pairs, supplies).scores for part in offline]
        return self._language_scores[1]
