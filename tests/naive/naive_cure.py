"""The cure of cover problems of one cluster on plain sets of rows, from its table of cures; slow and literal."""

from itertools import combinations


def support(rows, items):
    return len(set.intersection(*(rows[item] for item in items)))


def anonymous(rows, chunk, touched, k, m):
    """Every set of 1..m items of a chunk with a touched one is in no rows or in k."""
    sets = [one for size in range(1, m + 1) for one in combinations(chunk, size) if set(one) & touched]
    return all(support(rows, one) == 0 or support(rows, one) >= k for one in sets)


def level(rows, chunk, x):
    """I: the items at least as frequent as x, in order; none of those without rows."""
    return [y for y in ordered(rows, chunk) if rows[y] and len(rows[y]) >= len(rows[x])]


def ordered(rows, items):
    return sorted(items, key=lambda item: (-len(rows[item]), item))


def is_problem(rows, chunk, x):
    items = level(rows, chunk, x)
    return bool(items) and support(rows, items) == min(len(rows[y]) for y in items)


def first_problem(rows, chunks):
    for j, chunk in enumerate(chunks):
        for x in chunk:
            for earlier in range(j):
                if is_problem(rows, chunks[earlier], x):
                    return x, j, earlier
    return None


def without(rows, gone):
    return {item: held - gone.get(item, set()) for item, held in rows.items()}


def cures(rows, chunks, problem, k, m):
    """(price, kind, what goes) of every cure that suppresses, the cheapest of each kind first."""
    x, j, earlier = problem
    items = level(rows, chunks[earlier], x)
    together = sorted(set.intersection(*(rows[y] for y in items)))

    def fine(gone, number):
        after = without(rows, gone)
        return anonymous(after, chunks[number], set(gone), k, m) and not is_problem(after, chunks[earlier], x)

    spare = [y for y in items if len(rows[y]) > k]
    for y in spare:
        if fine({y: {together[0]}}, earlier):
            return [(1, "a", {y: {together[0]}})]
    found = []
    for y, z in combinations(spare, 2):
        gone = {y: {together[0]}, z: {together[1]}}
        if fine(gone, earlier):
            found.append((2, "b", gone))
            break
    lower = sorted({len(rows[y]) for y in chunks[earlier] if k <= len(rows[y]) < len(rows[x])}, reverse=True)
    for t in lower[:3]:
        gone = {x: set(sorted(rows[x])[: len(rows[x]) - t])}
        if fine(gone, j):
            found.append((len(rows[x]) - t, "c", gone))
            break
    if len(rows[x]) > k:
        gone = {y: set(sorted(rows[y])[: len(rows[y]) - len(rows[x]) + 1]) for y in items}
        if fine(gone, earlier):
            found.append((sum(map(len, gone.values())), "d", gone))
    return found


def may_be_empty(rows, chunks, size, k, m):
    shown = sum(len(set().union(*(rows[item] for item in chunk))) for chunk in chunks)
    return not chunks or shown < size + k * (min(m, len(chunks)) - 1)


def cured(chunks, terms, held, size, k, m, moves=True, term_price=None):
    """Chunks, terms and the rows of each item of a chunk; the number of moves; the occurrences suppressed."""
    rows = {item: set(held[item]) for chunk in chunks for item in chunk}
    chunks, terms, moved, cut, steps = [list(chunk) for chunk in chunks], list(terms), 0, set(), 0
    while True:
        chunks = [kept for chunk in chunks if (kept := [item for item in chunk if rows.get(item)])]
        chunks.sort(key=lambda chunk: -max(len(rows[item]) for item in chunk))
        problem = first_problem(rows, chunks)
        gone_to_terms = None
        if problem is None:
            if terms or not may_be_empty(rows, chunks, size, k, m):
                return chunks, terms, {item: rows[item] for chunk in chunks for item in chunk}, moved, cut
            gone_to_terms = ordered(rows, [item for chunk in chunks for item in chunk])[-1]
        else:
            found = cures(rows, chunks, problem, k, m) if steps < 400 else []
            if moves:
                found.append((k if term_price is None else term_price, "t", None))
            steps += 1
            if not found:
                cut |= {(row, problem[0]) for row in rows[problem[0]]}
                rows[problem[0]] = set()
                continue
            _, kind, gone = min(found, key=lambda one: one[0])
            if kind == "t":
                gone_to_terms = problem[0]
            else:
                cut |= {(row, item) for item, of in gone.items() for row in of}
                rows = without(rows, gone)
        if gone_to_terms is not None:
            rows[gone_to_terms] = set()
            terms.append(gone_to_terms)
            moved += 1
