"""The search for rows of clusters that may have sets of items, row by row."""


def rows_with(sets, clusters):
    """Return how many rows of `clusters`, lists of sets of items, have each of `sets`, up to 2; and the only one."""
    found = []
    for items in sets:
        rows = [
            (number, row)
            for number, cluster in enumerate(clusters)
            for row, held in enumerate(cluster)
            if held.issuperset(items)
        ]
        found.append((min(2, len(rows)), rows[0] if len(rows) == 1 else None))
    return found
