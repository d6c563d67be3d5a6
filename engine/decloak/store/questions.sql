-- The questions of docs/how-to/sql.md, each with its title above. `decloak serve` offers them as queries.

-- runs: Which runs does the store have?
SELECT id AS run, scenario, variant, repetition, started FROM run ORDER BY id DESC;

-- worst_figures: Which figures say that more is exposed, and how far are they from random guessing?
SELECT attack, title, value, baseline, value - baseline AS advantage, unit
FROM named_result
WHERE run = :run AND direction = 'more is exposed' AND value > 0
ORDER BY unit, value DESC;

-- people: How many people are exposed, before and after the strongest attack?
SELECT f.base AS figure, min(f.position) AS place, max(CASE WHEN f.way = 'original' THEN r.value END) AS original,
  max(CASE WHEN f.way = 'release' THEN r.value END) AS released,
  max(CASE WHEN f.key = f.base THEN r.value END) AS after_attack, max(r.whole) AS people
FROM result r JOIN figure f ON f.key = r.measure
WHERE r.run = :run AND f.unit = 'people' AND f.key LIKE 'singled_out%'
GROUP BY f.base ORDER BY place;

-- exposed_records: About which published records did attacks find most?
SELECT attack, record, findings, finding FROM exposed_record WHERE run = :run ORDER BY findings DESC LIMIT 20;

-- exposed_items: About which items did attacks find most?
SELECT attack, item, findings FROM exposed_item WHERE run = :run ORDER BY findings DESC LIMIT 20;

-- findings_about: What did attacks find about one record?
SELECT attack, item, hidden_in, round, finding FROM named_finding WHERE run = :run AND record = :record ORDER BY finding;

-- attacks: Which attacks were right most often?
SELECT attack, title, value, part AS correct, whole AS claims, baseline, value - baseline AS advantage
FROM named_result
WHERE run = :run AND measure IN ('precision', 'accuracy') AND whole > 0
ORDER BY advantage DESC;

-- changes: What changed between the last two runs?
SELECT attack, title, first_value, second_value, change FROM run_change
WHERE first_run = :first AND second_run = :second
ORDER BY abs(change) DESC;

-- sweep: How does a figure depend on a setting?
SELECT json_extract(r.config, '$.anonymise.k') AS k, v.attack, avg(v.value) AS mean, count(v.value) AS repetitions
FROM named_result v JOIN run r ON r.id = v.run
WHERE v.measure = :measure
GROUP BY k, v.attack ORDER BY v.attack, k;

-- utility: What did each release lose?
SELECT run, variant, max(title) AS title, max(value) AS value
FROM named_result
WHERE direction = 'more is lost'
GROUP BY run, measure ORDER BY title, run;

-- truth_right: Which findings are right?
SELECT attack, person, item, correct, finding FROM truth_finding WHERE run = :run LIMIT 20;

-- truth_people: About which people were attacks right most often?
SELECT attack, person, correct, findings FROM truth_exposed_record WHERE run = :run ORDER BY correct DESC LIMIT 20;
