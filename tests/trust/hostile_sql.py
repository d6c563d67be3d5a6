"""SQL that would hold SQLite, or fill the memory, for as long as it is let: add to it what you find.

Each gives one column x, reads nothing but `txn` or no table at all, and so can be a rule as well as a question of
`decloak sql`.
"""

COUNT = "with recursive n(i) as (select 1 union all select i + 1 from n"
A = "printf('%.*c', 9000000, 'a')"
HALF = "printf('%.*c', 4500000, 'a') || 'b'"

DEAF = {
    "instr": f"select instr({A}, {HALF}) as x",
    "instr of a row": f"select instr(printf('%.*c', 9000000 + 0 * length(label), 'a'), {HALF}) as x from txn",
    "replace": f"select length(replace({A}, {HALF}, 'c')) as x",
    "like": f"select {A} like '%' || printf('%.*c', 40000, 'a') || 'b' as x",
    "glob": f"select {A} glob '*' || printf('%.*c', 40000, 'a') || 'b' as x",
    "trim": f"select length(trim({A}, printf('%.*c', 700000, 'b') || 'a')) as x",
}
"""One step of SQLite's machine that takes minutes or for ever: nobody is asked meanwhile."""

GREEDY = {
    "rows of 9 MB": f"{COUNT} limit 400) select printf('%.*c', 9000000, 'a') || i as x from n",
    "rows of blobs": f"{COUNT} limit 4000) select zeroblob(9000000 + 0 * i) as x from n",
    "sorter": f"{COUNT} limit 400) select x from (select printf('%.*c', 9000000, i) as x from n order by x) limit 1",
    "union": f"{COUNT} limit 400) select x from (select printf('%.*c', 9000000, i) || i as x from n union select 'y')",
    "group by": f"{COUNT} limit 400) select max(x) as x from (select zeroblob(9000000 + i) as x from n) group by x",
    "distinct": f"{COUNT} limit 400) select count(distinct zeroblob(9000000 + i)) as x from n",
    "recursion": "with recursive n(i) as (select '' union select i || printf('%.*c', 9000, 'a') from n) "
    "select max(i) as x from n",
    "queue": f"{COUNT} union all select i + 2 from n) select max(i) as x from n",
    "rows": f"{COUNT}) select i as x from n",
    "wide rows": f"{COUNT}) select i as x, i + 1 as y, i + 2 as z, i || 'a' as v, i || 'b' as w from n",
    "window": f"{COUNT} limit 4000) select last_value(zeroblob(900000 + i)) over (order by i) as x from n",
    "group_concat": f"{COUNT}) select length(group_concat(printf('%.*c', 9000, 'a'))) as x from n",
    "json": f"{COUNT}) select length(json_group_array(i)) as x from n",
}
"""Gigabytes, in the store of a statement or in its rows."""

ENDLESS = {
    "count": f"{COUNT}) select count(*) as x from n",
    "cross join": f"{COUNT} limit 100000) select count(*) as x from n a, n b, n c where a.i + b.i = -c.i",
    "nothing found": f"{COUNT}) select i as x from n where i < 0",
}
"""Steps without end, each of them short."""

HOSTILE = DEAF | GREEDY | ENDLESS
