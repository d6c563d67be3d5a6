"""Reassociate rules as SQL over the attacker's database.

Steps count the units, score them against the items of each anchor, and rank the rows. A unit on its own goes to its
best rows. A rule that assigns whole chunks, or whole clusters, goes through the rows in rounds: `state` has the best
way to every combination of copies that are left to assign.
"""

from decloak.errors import DecloakError
from decloak.rules.model import RelationalForm
from decloak.rules.reassociate.scores import EPSILON
from decloak.rules.reassociate.strategy import Combine, Reassociation
from decloak.store.relations import Derives

__all__ = ["relational_form"]

_UNITS = {
    "anchored": "select cluster, size from cluster where cluster in (select cluster from subrecord_item)",
    "records": """\
with recursive line(cluster, size, row) as (
  select cluster, size, 0 from anchored union all select cluster, size, row + 1 from line where row + 1 < size)
select cluster, row, size from line""",
    "anchor": "select cluster, subrecord as row, item from subrecord_item where chunk = 0",
    "split_off": """\
select distinct cluster, chunk, subrecord, group_concat(name, ', ') over w as name,
  group_concat(name, char(1)) over w as content
from subrecord_item join item using (item) where chunk > 0
window w as (partition by cluster, chunk, subrecord order by name
  rows between unbounded preceding and unbounded following)""",
    "units": """\
select row_number() over (order by cluster, is_term, place, content) as number, *,
  count(*) over (partition by cluster, is_term, place) as rivals
from (
  select cluster, chunk as place, 0 as is_term, cast(chunk as text) as chunk, name, content, count(*) as times,
    min(subrecord) as example
  from split_off group by cluster, chunk, content
  union all
  select cluster, null, 1, 'T', name, name, {rows}, null
  from term join anchored using (cluster) join item using (item){stated})""",
    "unit_item": """\
select number, cluster, item from units join subrecord_item using (cluster)
where subrecord_item.chunk = place and subrecord = example
union all select number, cluster, t.item from units u join term t using (cluster) join item i on i.item = t.item
where is_term and i.name = u.name""",
}
"""The units of the release and the records of its clusters, step by step."""

_CLOSENESS = """\
select a, b, {score} as score from {source} where abs(score) < 9e999
union select b, a, {score} from {source} where abs(score) < 9e999"""
_NEAR = """\
with held as (select distinct cluster, item from anchor),
own as (select item from subrecord_item union select item from term),
neutral as (select coalesce(avg(score), 0) as score from closeness where a in own and b in own)
select y.number, x.item, avg(c.score) as mean, sum(c.score - {neutral}) as odds
from unit_item y join held x using (cluster) join closeness c on c.a = x.item and c.b = y.item
group by y.number, x.item"""
_CELLS = """units u join records r using (cluster) left join anchor a using (cluster, row)
left join near n on n.number = u.number and n.item = a.item"""
_VALUE: dict[Combine, str] = {
    "mean": "avg(n.mean)",
    "best": "max(n.mean)",
    "bayes": "coalesce(sum(n.odds), 0)",
    "fitted": "coalesce(sum(n.odds), 0) / sqrt(max(1, count(a.item)))",
}
_UPPER_HALF = f"""\
select number, row, avg(v) as value from (
  select *, max(case when place = n / 2 + 1 then v end) over (partition by number, row) as middle from (
    select u.number, r.row, n.mean as v, count(n.mean) over w as n,
      row_number() over (partition by u.number, r.row order by n.mean is null, n.mean) as place
    from {_CELLS} where {{kind}} window w as (partition by u.number, r.row)))
where v is null or v >= middle - {EPSILON} group by number, row"""
_RANKED = f"""\
with stepped as (
  select *, case when value is null then lag(value) over w is not null
    else coalesce(lag(value) over w - value > {EPSILON}, 0) end as step
  from valued window w as (partition by number order by value desc, row)),
levelled as (select *, sum(step) over (partition by number order by value desc, row) as level from stepped)
select number, row, value, row_number() over (partition by number order by level, row) as nth from levelled"""
_BEST = "select cluster, chunk, name as unit, row, value from ranked join units using (number) where nth <= times"


def relational_form(name: str, strategy: Reassociation) -> RelationalForm:
    """Write a reassociate rule as SQL; return the form.

    `name` is the name of the form, and `strategy` the compiled rule. Scores are distances. A random rule reads the
    relation `draw`, and a rule that learns reads the relation `learned`.
    """
    if strategy.by_probability or strategy.give == "expected":
        message = "the rule takes records of equal probability in a hashed order, and SQLite has no such hash"
        raise DecloakError(message, hint="show it without --sql")
    counted = "1" if strategy.give == "multiplicity" else "min(size, k - 1)"
    steps = dict(_UNITS)
    steps["units"] = _UNITS["units"].format(rows=counted, stated="" if counted == "1" else " join stated")
    given = {}
    if strategy.match == "random":
        given["draw"] = "draw(number, row, rank) has a random rank for each unit and row, lowest first."
        steps["valued"] = "select number, row, -rank as value from draw"
    else:
        if strategy.combine == "fitted":
            given["learned"] = "learned(a, b, score) has the scores of pairs that the rule learns, larger is closer."
        learns = bool(given)
        steps["closeness"] = _CLOSENESS.format(
            score="score" if learns else "-score", source="learned" if learns else "related"
        )
        steps["near"] = _NEAR.format(neutral="0" if learns else "(select score from neutral)")
        kinds = {"is_term": strategy.combine_for("T"), "not is_term": strategy.combine_for(1)}
        if len(set(kinds.values())) == 1:
            kinds = {"true": strategy.combine_for("T")}
        steps["valued"] = "\nunion all\n".join(_values(combine, kind) for kind, combine in kinds.items())
    steps["ranked"] = _RANKED
    form = RelationalForm(
        Derives(name, ("cluster", "chunk", "unit", "row", "value")), steps, _BEST,
        "{unit} was assigned to record {row} of cluster {cluster}", given=given,
    )  # fmt: skip
    return form if strategy.match != "assignment" else _assigned(form, strategy.consistent)


def _values(combine: Combine, kind: str) -> str:
    """Return the SQL of the value of each unit of a `kind` with each row, by the way to `combine` scores."""
    if combine == "upper_half":
        return _UPPER_HALF.format(kind=kind)
    return f"select u.number, r.row, {_VALUE[combine]} as value\nfrom {_CELLS}\nwhere {kind} group by u.number, r.row"


_CONTESTED = """\
select number, cluster, place, times, row_number() over (partition by cluster, place order by number) - 1 as at
from units where not is_term and rivals > 1"""
_LOSS = """\
select c.number, c.cluster, c.place, c.at, v.row, v.value is null as missing,
  coalesce(cast(round(1e9 * (max(v.value) over (partition by c.cluster, c.place) - v.value)) as integer), 0) as loss
from contested c join valued v using (number)"""
_TODO = """\
select distinct cluster, place, '[' || group_concat(times) over (
  partition by cluster, place order by at rows between unbounded preceding and unbounded following) || ']' as todo
from contested"""
_WHOLE_CHUNKS = {"contested": _CONTESTED, "loss": _LOSS, "todo": _TODO}
_START = "select cluster, place, -1 as row, todo, 0 as missing, 0 as loss, 0 as total, ' ' as dealt from todo"
_REPEAT = """\
with next as (
  select s.cluster, s.place, s.row + 1 as row, todo, missing, loss, total, dealt from last_round s
  union all
  select s.cluster, s.place, l.row, json_set(todo, '$[' || at || ']', json_extract(todo, '$[' || at || ']') - 1),
    s.missing + l.missing, s.loss + l.loss, total + l.row, dealt || number || ':' || l.row || ' '
  from last_round s join loss l on l.cluster = s.cluster and l.place = s.place and l.row = s.row + 1
  where json_extract(todo, '$[' || at || ']') > 0),
judged as (
  select *, row_number() over (partition by cluster, place, todo order by missing, loss, total, dealt) as nth
  from next join anchored using (cluster) where row < size)
select cluster, place, row, todo, missing, loss, total, dealt from judged where nth = 1"""
_DEALT = f"""\
{_BEST} and (is_term or rivals = 1)
union all
select u.cluster, u.chunk, u.name, v.row, v.value
from state s join anchored a on a.cluster = s.cluster and a.size = s.row + 1
join contested c on c.cluster = s.cluster and c.place = s.place join units u using (number) join valued v using (number)
where s.todo not glob '*[1-9]*' and instr(s.dealt, ' ' || c.number || ':' || v.row || ' ')"""


_WHOLE_CLUSTER = {
    "contested": """\
select number, cluster, place, times, row_number() over (partition by cluster order by number) - 1 as at,
  count(*) over (partition by cluster) as n
from units""",
    "loss": _LOSS.replace("c.cluster, c.place)", "c.cluster)"),
    "todo": """\
select distinct cluster, '[' || group_concat(times) over (
  partition by cluster order by at rows between unbounded preceding and unbounded following) || ']' as todo
from contested""",
    "covers": """\
select l.*, cast(pow(k, row_number() over (partition by cluster order by chunk, item, covered) - 1) as integer) as digit
from (select distinct cluster, chunk, item, covered from cover where earlier = 0) l join stated""",
    "joined_by": """\
select distinct u.number, a.row, l.digit from covers l join units u on u.cluster = l.cluster and u.place = l.chunk
join unit_item i on i.number = u.number and i.item = l.item
join anchor a on a.cluster = l.cluster and a.item = l.covered where l.digit < 9e15""",
    "choice": """\
select c.cluster, l.row * n + at as turn, l.row, number, place, at, at = n - 1 as ends, l.missing, l.loss,
  not exists (select 1 from anchor a where a.cluster = c.cluster and a.row = l.row) as blank,
  (select coalesce(sum(digit), 0) from joined_by j where j.number = c.number and j.row = l.row) as joins
from contested c join (select number, row, missing, loss from loss) l using (number)""",
}
"""The steps of a rule that goes through the rows of a whole cluster, and obeys the algorithm.

A digit of `joined`, to the base k, counts the rows that join a covered pair: there are fewer than k. Rows without an
anchor, `blank` ones, get a unit. Level 2 obeys both rules, level 1 the first, and level 0 none.
"""
_OBEY_START = """\
select cluster, level, -1 as turn, todo, null as busy, 0 as filled, 0 as joined, 0 as missing, 0 as loss, 0 as total,
  ' ' as dealt
from todo join (select 0 as level union all select 1 union all select 2)"""
_OBEY_REPEAT = """\
with next as (
  select s.*, c.row, c.number, c.place, c.at, c.ends, c.blank, c.joins, c.missing as lacks, c.loss as loses, g.given
  from last_round s join choice c on c.cluster = s.cluster and c.turn = s.turn + 1
  join (select 0 as given union all select 1) g),
allowed as (
  select * from next where not given
  union all
  select * from next n
  where given and json_extract(todo, '$[' || at || ']') > 0 and (place is null or place is not busy)
    and (level = 0 or not exists (
      select 1 from joined_by j join stated
      where j.number = n.number and j.row = n.row and joined / digit % k = k - 1))),
made as (
  select cluster, level, turn + 1 as turn,
    json_set(todo, '$[' || at || ']', json_extract(todo, '$[' || at || ']') - given) as todo,
    case when ends then null when given then coalesce(place, busy) else busy end as busy,
    not ends and (filled or given) as filled, joined + given * joins * (level > 0) as joined,
    missing + given * lacks as missing, loss + given * loses as loss, total + given * row as total,
    iif(given, dealt || number || ':' || row || ' ', dealt) as dealt
  from allowed where not (level = 2 and ends and blank and not filled and not given)),
judged as (
  select *, row_number() over (
    partition by cluster, level, todo, busy, filled, joined order by missing, loss, total, dealt) as nth
  from made)
select cluster, level, turn, todo, busy, filled, joined, missing, loss, total, dealt from judged where nth = 1"""
_OBEYED = """\
with done as (
  select *, row_number() over (partition by cluster order by level desc, missing, loss, total, dealt) as nth
  from state where todo not glob '*[1-9]*' and turn = (select max(turn) from choice c where c.cluster = state.cluster))
select u.cluster, u.chunk, u.name as unit, v.row, v.value
from done d join units u on u.cluster = d.cluster join valued v using (number)
where d.nth = 1 and instr(d.dealt, ' ' || u.number || ':' || v.row || ' ')"""


def _assigned(form: RelationalForm, consistent: bool) -> RelationalForm:
    """Return the form of a rule that assigns the sub-records of a chunk together, or obeys the algorithm as well."""
    columns: tuple[str, ...]
    if consistent:
        columns = ("cluster", "level", "turn", "todo", "busy", "filled", "joined", "missing", "loss", "total", "dealt")
        steps, start, repeat, facts = _WHOLE_CLUSTER, _OBEY_START, _OBEY_REPEAT, _OBEYED
    else:
        columns = ("cluster", "place", "row", "todo", "missing", "loss", "total", "dealt")
        steps, start, repeat, facts = _WHOLE_CHUNKS, _START, _REPEAT, _DEALT
    state = Derives("state", columns)
    return form._replace(steps={**form.steps, **steps}, state=state, start=start, repeat=repeat, facts=facts)
