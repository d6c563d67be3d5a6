"""The items that an attack eliminated, read from the store row by row."""

from decloak.store.eliminations import read_eliminations
from decloak.store.inserting import quoted
from decloak.store.relations import ELIMINATION_COLUMNS


def eliminated_items(connection, attack, derives):
    """Yield each eliminated member: the place of the transaction among those of the release, and the item."""
    if ELIMINATION_COLUMNS.issubset(derives.columns):
        yield from connection.execute(
            "select x.txn - e.first, i.name from attack a join release l on l.id = a.release "
            "join dataset e on e.id = l.dataset join finding f on f.attack = a.id "
            f"join {quoted(f'found_{derives.name}')} x on x.finding = f.id join item i on i.id = x.item where a.id = ?",
            (attack,),
        )
        return
    done = read_eliminations(connection, attack)
    of_attack = "from attack a join distance_table t on t.scoring = a.scoring"
    rows = connection.execute(
        f"select t.id, r.row, r.txn - e.first {of_attack} join distance_row r on r.distance_table = t.id "
        "join release l on l.id = a.release join dataset e on e.id = l.dataset where a.id = ?",
        (attack,),
    )
    place = {(table, row): number for table, row, number in rows}
    columns = connection.execute(
        f"select t.id, k.col, i.name {of_attack} join distance_col k on k.distance_table = t.id "
        "join item i on i.id = k.item where a.id = ?",
        (attack,),
    )
    names = {(table, col): name for table, col, name in columns}
    if done is not None:
        for table, row, col in zip(done.tables.tolist(), done.rows.tolist(), done.cols.tolist(), strict=True):
            yield place[table, row], names[table, col]
