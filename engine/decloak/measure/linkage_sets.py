"""People looked up in a release whose transactions show generalised items, as published and after strikes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from decloak.arrays import Ints
from decloak.counting.ascending import among
from decloak.data.rows import CodedRows
from decloak.lazy import sparse
from decloak.measure.family import AttackedRelease
from decloak.measure.kernels.by_chance import random_strikes
from decloak.measure.kernels.elements import Elements
from decloak.measure.kernels.holders import Holders
from decloak.measure.kernels.looked_up import LookedUp, looked_up
from decloak.measure.lookup import KnownPeople
from decloak.measure.struck import StruckCells, strikes_of, struck_cells
from decloak.releases.held import HeldSets
from decloak.store.origins import read_origins

__all__ = ["LookupInSets"]


@dataclass(frozen=True, eq=False)
class LookupInSets:
    """A release, the elements of its rows, and the row of each record, -1 where there is none."""

    rows: CodedRows[Any]
    elements: Elements
    row_of: Ints

    @classmethod
    def of(cls, held: HeldSets) -> "LookupInSets":
        assert held.original is not None
        rows, places = held.published.rows, read_origins(held.connection, held.number)
        row_of = np.full(len(held.original.rows), -1, np.int64)
        if places is not None:
            row_of[places] = np.arange(len(places))
        return cls(rows, Elements(rows.names, held.original.rows.names), row_of)

    @cached_property
    def _may(self) -> Holders:
        return Holders.standing(self.rows.start, self.rows.codes, len(self.rows.names), self.elements.having)

    @cached_property
    def _entries(self) -> tuple[Ints, Ints]:
        """Every item that a row shows or may mean, as items of rows; and the thing that stands for it."""
        item, thing = self.elements.members(self.rows.codes.astype(np.int64))
        return self.rows.row[thing] * self.elements.items + item, thing

    def _chances(self, struck: StruckCells | None) -> "sparse.csr_array[Any]":
        """Records × items: the share of an item in what is left of the thing that stands for it."""
        entry, thing = self._entries
        left = np.ones(len(entry), np.bool_)
        if struck is not None:
            left = ~among(entry, struck.rows * self.elements.items + struck.items)
        chance = 1 / np.maximum(np.bincount(thing[left], minlength=len(self.rows.codes)), 1)
        row, item = np.divmod(entry[left], self.elements.items)
        shape = (len(self.rows), self.elements.items)
        chances = sparse.coo_array((chance[thing[left]], (row, item)), shape).tocsr()
        chances.data = np.minimum(chances.data, 1.0)
        return chances

    @cached_property
    def _published(self) -> "sparse.csr_array[Any]":
        return self._chances(None)

    def look(self, known: KnownPeople, struck: StruckCells | None = None) -> LookedUp:
        """Look people up, in what was struck of nothing, or so much."""
        there = np.bincount(self.elements.item, minlength=self.elements.items) > 0
        number = self.elements.further
        items = np.where(known.items >= 0, number[known.items], -1)
        items = np.where((items >= 0) & there[items], items, -1)
        may = self._may if struck is None else self._may.without(struck.items, struck.rows)
        chances = self._published if struck is None else self._chances(struck)
        own = np.where(known.record >= 0, self.row_of[known.record], -1)
        return looked_up(may, chances, items, own, known.held_by(number, self.elements.items))

    def after(self, held: HeldSets, attacked: AttackedRelease[Any], people: int) -> Iterator[StruckCells]:
        """What an attack struck, and then what was struck at random instead; nothing where it strikes nothing."""
        done = strikes_of(held, attacked)
        if done is None:
            return
        tables, masks = done
        yield struck_cells(self.elements.number, tables, masks)
        counts = [int(mask.sum()) for mask in masks]
        for draw in random_strikes([table.scored for table in tables], counts, people):
            yield struck_cells(self.elements.number, tables, draw)
