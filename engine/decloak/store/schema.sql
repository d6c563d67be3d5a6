-- The store of decloak: one typed property graph in SQLite.
-- A comment above a table or view says what it is; the comment behind a column says what it holds.
-- `decloak schema` prints this file's tables and comments. Tables named truth_* link a release to its original:
-- only the evaluator reads them, and no attack rule can.

-- [node] A set of transactions: an original as read from its file, or the transactions a release publishes.
CREATE TABLE dataset (
  id INTEGER PRIMARY KEY,        -- number of the data set
  digest TEXT NOT NULL UNIQUE,   -- key of the stage that made it: the configuration and the content of its inputs
  kind TEXT NOT NULL CHECK (kind IN ('original', 'published')), -- original or published
  origin TEXT NOT NULL,          -- the file it was read from, or the method that made it
  format TEXT NOT NULL,          -- the format it was read in
  note TEXT,                     -- what a reader of results should know of it, null when nothing
  first INTEGER NOT NULL DEFAULT 1,  -- number of its first record; the others follow
  records INTEGER NOT NULL DEFAULT 0 -- number of its records
) STRICT;

-- [node] An item name; one vocabulary for the whole store.
CREATE TABLE item (
  id INTEGER PRIMARY KEY,        -- number of the item
  name TEXT NOT NULL UNIQUE      -- its name as published
) STRICT;

-- The record of a transaction, with the list of its elements. The view txn gives its label, the views contains and
-- published_as give a row for each element.
CREATE TABLE record (
  id INTEGER PRIMARY KEY,        -- number of the record
  dataset INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE, -- the data set it belongs to
  cluster INTEGER REFERENCES cluster (id) ON DELETE CASCADE, -- the cluster it belongs to, null outside disassociated releases
  label TEXT,                    -- its id in the file, null when that is its line number
  elements TEXT NOT NULL         -- its elements in order, as a JSON list: an item by its number, a generalised item by minus its number
) STRICT;

-- A file with records of a data set, which are not in the store: the catalogue of data larger than memory.
CREATE TABLE part (
  id INTEGER PRIMARY KEY,        -- number of the file
  dataset INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE, -- the data set it belongs to
  path TEXT NOT NULL,            -- its path from the folder of the store
  row_groups INTEGER NOT NULL,   -- number of blocks that are read one at a time
  records INTEGER NOT NULL,      -- number of its records
  elements INTEGER NOT NULL,     -- number of item occurrences in its records
  bytes INTEGER NOT NULL,        -- its size
  digest TEXT NOT NULL,          -- the SHA-256 digest of its content
  UNIQUE (dataset, path)
) STRICT;

-- Numbers that many cells and pairs share. Lists refer to a number by its distance from the first one of their owner.
CREATE TABLE number (
  id INTEGER PRIMARY KEY,        -- place of the number
  value REAL NOT NULL            -- the number
) STRICT;

-- [node] A published form of some data set.
CREATE TABLE release (
  id INTEGER PRIMARY KEY,        -- number of the release
  digest TEXT NOT NULL UNIQUE,   -- key of the stage that made it
  dataset INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE, -- its published transactions
  method TEXT NOT NULL,          -- how it was anonymised, 'unknown' for a release from another program
  parameters TEXT NOT NULL,      -- the settings of the method, as JSON
  hierarchy INTEGER REFERENCES hierarchy (id), -- the hierarchy its items were generalised in, null where there is none
  loss TEXT NOT NULL DEFAULT '{}', -- its loss, and the time of making and checking it, as JSON
  notes TEXT NOT NULL DEFAULT '[]', -- what the measure of relatedness it was made by could not use, as a JSON list
  totals TEXT                    -- the support of single items by the number of the item, as a JSON object; null when it publishes none
) STRICT;

-- [node] A generalised item of a release: published in place of one or more of its members.
CREATE TABLE generalised (
  id INTEGER PRIMARY KEY,        -- number of the generalised item
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release it belongs to
  label TEXT NOT NULL,           -- how it is printed
  UNIQUE (release, label)
) STRICT;

-- [edge member_of] An item is a member of a generalised item.
CREATE TABLE member_of (
  generalised INTEGER NOT NULL REFERENCES generalised (id) ON DELETE CASCADE, -- the generalised item
  position INTEGER NOT NULL,     -- place among the members, from 0
  item INTEGER NOT NULL REFERENCES item (id), -- the member
  PRIMARY KEY (generalised, position)
) STRICT, WITHOUT ROWID;

-- Which original data set a release was made from.
CREATE TABLE truth_release (
  release INTEGER PRIMARY KEY REFERENCES release (id) ON DELETE CASCADE, -- the release
  original INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE  -- the data set it was made from
) STRICT;

-- Ground truth: the original record behind each published record.
CREATE TABLE truth_origin (
  txn INTEGER PRIMARY KEY REFERENCES record (id) ON DELETE CASCADE, -- the published transaction
  original INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE -- the transaction it was made from
) STRICT;

-- An original item that is absent from a release, in plain and in generalised form.
CREATE TABLE truth_suppressed (
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release
  item INTEGER NOT NULL REFERENCES item (id), -- the item
  PRIMARY KEY (release, item)
) STRICT, WITHOUT ROWID;

-- Ground truth: an item of an original record that a release suppressed.
CREATE TABLE truth_cut (
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release
  txn INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE, -- the original transaction
  item INTEGER NOT NULL REFERENCES item (id), -- the item that the release does not show of it
  PRIMARY KEY (release, txn, item)
) STRICT, WITHOUT ROWID;

-- Which members of a generalised item a distance table file marks as original, when there is no original data set.
CREATE TABLE truth_marked (
  txn INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE, -- the published transaction
  item INTEGER NOT NULL REFERENCES item (id), -- the member that is original in it
  PRIMARY KEY (txn, item)
) STRICT, WITHOUT ROWID;

-- [node] A generalisation hierarchy.
CREATE TABLE hierarchy (
  id INTEGER PRIMARY KEY,        -- number of the hierarchy
  digest TEXT NOT NULL UNIQUE,   -- key of its content
  origin TEXT NOT NULL           -- the file it was read from, or the method that made it
) STRICT;

-- [node] A node of a hierarchy.
CREATE TABLE concept (
  id INTEGER PRIMARY KEY,        -- number of the hierarchy node
  hierarchy INTEGER NOT NULL REFERENCES hierarchy (id) ON DELETE CASCADE, -- the hierarchy it belongs to
  label TEXT NOT NULL,           -- its name
  item INTEGER REFERENCES item (id), -- the item of a leaf
  UNIQUE (hierarchy, label)
) STRICT;

-- [edge is_a] A hierarchy node is a kind of another.
CREATE TABLE is_a (
  child INTEGER PRIMARY KEY REFERENCES concept (id) ON DELETE CASCADE, -- the narrower node
  parent INTEGER NOT NULL REFERENCES concept (id) ON DELETE CASCADE -- the broader node
) STRICT;

-- [node] A cluster of a disassociated release.
CREATE TABLE cluster (
  id INTEGER PRIMARY KEY,        -- number of the cluster in the store
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release it belongs to
  number INTEGER NOT NULL,       -- number in the release, from 0
  size INTEGER NOT NULL,         -- number of its records
  first INTEGER NOT NULL,        -- number of its first record; the others follow
  UNIQUE (release, number)
) STRICT;

-- [node] A joint cluster: two or more clusters with shared chunks.
CREATE TABLE joint (
  id INTEGER PRIMARY KEY,        -- number of the joint cluster in the store
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release it belongs to
  number INTEGER NOT NULL,       -- number in the release, from 0
  UNIQUE (release, number)
) STRICT;

-- [edge joins] A joint cluster takes in a cluster.
CREATE TABLE joins (
  joint INTEGER NOT NULL REFERENCES joint (id) ON DELETE CASCADE, -- the joint cluster
  cluster INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE, -- the cluster
  PRIMARY KEY (joint, cluster)
) STRICT, WITHOUT ROWID;

-- [node] A chunk: a set of items published apart from the others of its cluster, or of its joint cluster.
CREATE TABLE chunk (
  id INTEGER PRIMARY KEY,        -- number of the chunk in the store
  cluster INTEGER REFERENCES cluster (id) ON DELETE CASCADE, -- the cluster it belongs to, null for a shared chunk
  joint INTEGER REFERENCES joint (id) ON DELETE CASCADE, -- the joint cluster a shared chunk belongs to
  number INTEGER NOT NULL,       -- number among nodes of its kind, from 0
  kind TEXT NOT NULL CHECK (kind IN ('record', 'shared', 'term')), -- record, shared or term
  items TEXT NOT NULL,           -- the items it publishes, as a JSON list of their numbers
  UNIQUE (cluster, kind, number),
  UNIQUE (joint, number),
  CHECK ((cluster IS NULL) = (kind = 'shared') AND (joint IS NULL) = (kind <> 'shared'))
) STRICT;

-- [node, edge in_chunk] A sub-record: the part of one record that a chunk shows.
CREATE TABLE subrecord (
  id INTEGER PRIMARY KEY,        -- number of the sub-record in the store
  chunk INTEGER NOT NULL REFERENCES chunk (id) ON DELETE CASCADE, -- the chunk it belongs to
  number INTEGER NOT NULL,       -- number in the chunk, from 0, in published order
  items TEXT NOT NULL,           -- its items, as a JSON list of their numbers
  UNIQUE (chunk, number)
) STRICT;

-- An itemset that an itemset table publishes. The view published_itemset_item gives a row for each of its items.
CREATE TABLE published_itemset (
  id INTEGER PRIMARY KEY,        -- number of the itemset in the store
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release it belongs to
  number INTEGER NOT NULL,       -- place in the table, from 0; 0 is the empty itemset, which every record has
  items TEXT NOT NULL,           -- its items, as a JSON list of their numbers
  support INTEGER NOT NULL,      -- number of records that have all of its items
  UNIQUE (release, number)
) STRICT;

-- [node] An attacker of a disassociated release, by the knowledge before reading it.
CREATE TABLE attacker (
  id INTEGER PRIMARY KEY,        -- number of the attacker
  digest TEXT NOT NULL UNIQUE,   -- key of the stage that made it
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release attacked
  model TEXT NOT NULL,           -- strong, strong_pairs, moderate, weak or explicit; only strong knows without itemsets
  note TEXT                      -- why nothing could be known, null when something is
) STRICT;

-- [node] One itemset that an attacker knows of a person.
CREATE TABLE knowledge (
  id INTEGER PRIMARY KEY,        -- number of the known itemset
  attacker INTEGER NOT NULL REFERENCES attacker (id) ON DELETE CASCADE -- the attacker who knows it
) STRICT;

-- [edge knows] An item of an itemset an attacker knows.
CREATE TABLE knows (
  knowledge INTEGER NOT NULL REFERENCES knowledge (id) ON DELETE CASCADE, -- the known itemset
  item INTEGER NOT NULL REFERENCES item (id), -- one of its items
  PRIMARY KEY (knowledge, item)
) STRICT, WITHOUT ROWID;

-- One way to measure how closely two items are related.
CREATE TABLE relatedness (
  id INTEGER PRIMARY KEY,        -- number of the measure in the store
  digest TEXT NOT NULL UNIQUE,   -- key of the stage that scored it
  measure TEXT NOT NULL,         -- the measure, such as ngd
  origin TEXT NOT NULL,          -- where its counts or scores come from
  warnings TEXT NOT NULL,        -- counts it could not use, as a JSON list of sentences
  numbers INTEGER NOT NULL DEFAULT 1 -- place of the first of its scores in the table number
) STRICT;

-- The items that one item has scores with. The view related gives a row for each pair.
CREATE TABLE scored_item (
  relatedness INTEGER NOT NULL REFERENCES relatedness (id) ON DELETE CASCADE, -- the measure
  item INTEGER NOT NULL REFERENCES item (id), -- the context item
  scores TEXT NOT NULL,          -- the score with each other item by its number, as a JSON object: a place from the first number of the measure, null where the source gives no score
  PRIMARY KEY (relatedness, item)
) STRICT;

-- A counter of documents that was asked how often terms occur: a corpus or a search service. It was asked for each
-- count once; delete its row to request all of them again.
CREATE TABLE count_source (
  id INTEGER PRIMARY KEY,        -- number of the counter in the store
  origin TEXT NOT NULL UNIQUE,   -- what names it: the corpus, or the kind and the address of the service
  n INTEGER,                     -- how many documents it has, null when it was not asked or cannot tell
  date TEXT NOT NULL             -- the day it was first asked, UTC
) STRICT;

-- How many documents hold a term.
CREATE TABLE counted (
  id INTEGER PRIMARY KEY,        -- number of the answer in the store
  source INTEGER NOT NULL REFERENCES count_source (id) ON DELETE CASCADE, -- the counter that was asked
  term TEXT NOT NULL,            -- the term
  form TEXT NOT NULL CHECK (form IN ('phrase', 'words')), -- looked for as a phrase, or by all of its words
  documents INTEGER,             -- how many documents hold it; null where the counter answered that it cannot tell
  date TEXT NOT NULL,            -- the day of the answer, UTC
  UNIQUE (source, term, form)
) STRICT;

-- How many documents hold two terms.
CREATE TABLE counted_pair (
  a INTEGER NOT NULL REFERENCES counted (id) ON DELETE CASCADE, -- one term, the one with the lower number
  b INTEGER NOT NULL REFERENCES counted (id) ON DELETE CASCADE, -- the other term
  documents INTEGER,             -- how many documents hold both; null where the counter answered that it cannot tell
  date TEXT NOT NULL,            -- the day of the answer, UTC
  PRIMARY KEY (a, b),
  CHECK (a < b)
) STRICT, WITHOUT ROWID;

-- The distance tables of one release under one measure and one kind of context.
CREATE TABLE scoring (
  id INTEGER PRIMARY KEY,        -- number of the scoring
  digest TEXT NOT NULL UNIQUE,   -- key of the stage that made it
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release scored
  relatedness INTEGER REFERENCES relatedness (id) ON DELETE CASCADE, -- the measure; null when the distances were given
  context TEXT NOT NULL,         -- how many plain items make a context, 'all', or 'given'
  numbers INTEGER NOT NULL DEFAULT 1 -- place of the first of its distances in the table number
) STRICT;

-- The distance table of one generalised item.
CREATE TABLE distance_table (
  id INTEGER PRIMARY KEY,        -- number of the table in the store
  scoring INTEGER NOT NULL REFERENCES scoring (id) ON DELETE CASCADE, -- the scoring it belongs to
  number INTEGER NOT NULL,       -- number in the scoring, from 0
  generalised INTEGER NOT NULL REFERENCES generalised (id) ON DELETE CASCADE, -- the generalised item it is about
  members TEXT NOT NULL,         -- the members of the generalised item, one for each column, as a JSON list of their numbers
  columns INTEGER NOT NULL,      -- number of its columns
  UNIQUE (scoring, number)
) STRICT;

-- A row of a distance table: one transaction that shows the generalised item. The view cell gives a row for each
-- distance, the view context a row for each context item.
CREATE TABLE distance_row (
  distance_table INTEGER NOT NULL REFERENCES distance_table (id) ON DELETE CASCADE, -- the table
  row INTEGER NOT NULL,          -- the row, from 0
  txn INTEGER NOT NULL,          -- the transaction
  context TEXT NOT NULL,         -- the context items, as a JSON list of their numbers
  distances TEXT NOT NULL,       -- the distance of each member, as a JSON list: a place from the first number of the scoring, null where there is no score
  PRIMARY KEY (distance_table, row)
) STRICT, WITHOUT ROWID;

-- A rule text that has run.
CREATE TABLE rule (
  id INTEGER PRIMARY KEY,        -- number of the rule text
  digest TEXT NOT NULL UNIQUE,   -- key of the text
  name TEXT NOT NULL,            -- the rule's name
  form TEXT NOT NULL,            -- query, eliminate, reassociate, itemsets or claims
  text TEXT NOT NULL,            -- the rule file as it ran
  identifier TEXT,               -- the id in the file, which stays the same when the rule is renamed; null where the file has none
  status TEXT,                   -- experimental, stable or deprecated; null for a rule that ran before rules had one
  about TEXT,                    -- the purpose of the rule
  reference TEXT,                -- the publication of the attack, or its author; null for a rule that ran before rules had one
  wrong_when TEXT                -- when the attack misleads; null for a rule that ran before rules had one
) STRICT;

-- One rule run on one release with one set of parameters.
CREATE TABLE attack (
  id INTEGER PRIMARY KEY,        -- number of the attack
  digest TEXT NOT NULL UNIQUE,   -- key of the stage: the rule, its parameters and its input
  rule INTEGER NOT NULL REFERENCES rule (id), -- the rule text that ran
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release attacked
  scoring INTEGER REFERENCES scoring (id) ON DELETE CASCADE, -- the distance tables it read
  attacker INTEGER REFERENCES attacker (id) ON DELETE CASCADE, -- the attacker whose knowledge it read
  parameters TEXT NOT NULL,      -- threshold and the like, whether weights are probabilities, why it had nothing to do, as JSON
  first INTEGER NOT NULL DEFAULT 1, -- number of its first finding; the others follow
  findings INTEGER NOT NULL DEFAULT 0, -- number of its findings
  numbers INTEGER,               -- place of the first of its numbers in the table number, null when it has none
  probabilities TEXT,            -- probability that each finding is right, in order, as a JSON list: a place from the first number of the attack, null where it is not known; null when the attack does not tell
  ties TEXT                      -- the rows that share the last places of a unit, by the number of its first finding, as a JSON object; null when there are none
) STRICT;

-- A finding of a rule that derives a relation of its own. The table found_<relation> has its values.
CREATE TABLE fact (
  id INTEGER PRIMARY KEY,        -- number of the finding
  attack INTEGER NOT NULL REFERENCES attack (id) ON DELETE CASCADE, -- the attack that found it
  round INTEGER NOT NULL         -- the round it was found in, from 1
) STRICT;

-- The result of an eliminate rule on one distance table. The view kept gives a row for each member that it left.
CREATE TABLE elimination (
  id INTEGER PRIMARY KEY,        -- number of the elimination
  attack INTEGER NOT NULL REFERENCES attack (id) ON DELETE CASCADE, -- the attack
  distance_table INTEGER NOT NULL REFERENCES distance_table (id) ON DELETE CASCADE, -- the distance table
  first INTEGER NOT NULL,        -- number of its first finding
  threshold REAL,                -- the threshold, null where the rule has none
  weighted INTEGER NOT NULL CHECK (weighted IN (0, 1)), -- 0 when the weight of every member is its distance, 1 when the rule gave them weights of its own
  suspected INTEGER NOT NULL CHECK (suspected IN (0, 1)), -- 0 when a member is suspected by its weight, 1 when by something else
  kept TEXT NOT NULL             -- each cell, row by row, as a JSON list: 0 when it was eliminated or has no score; else its weight, as a place from the first number of the attack, counted from 1, or null where it has none
) STRICT;

-- The members that an eliminate rule eliminated in one distance table, at most 32 to a list. The view eliminated gives a
-- row for each.
CREATE TABLE eliminated_members (
  first INTEGER PRIMARY KEY,     -- number of the first finding; the others follow
  elimination INTEGER NOT NULL REFERENCES elimination (id) ON DELETE CASCADE, -- the elimination
  cells TEXT NOT NULL,           -- the cells in the order of rounds, as a JSON list: 3 times the cell (row times columns plus column), plus the kind of group it was the farthest in: 0 table, 1 row, 2 column
  weights TEXT,                  -- the weighted distance of each just before, as a JSON list: a place from the first number of the attack, null where it has none; null when these are the distances
  suspicions TEXT                -- what was compared with the threshold, as a JSON list like weights; null when these are the weights
) STRICT;

-- A sub-record or a term that reassociate rules assign to records.
CREATE TABLE unit (
  id INTEGER PRIMARY KEY,        -- number of the unit
  chunk TEXT NOT NULL,           -- the chunk: a record chunk's number, T for terms, S0.1 for a shared one
  items TEXT NOT NULL,           -- its items by name, as a JSON list
  mark TEXT,                     -- the number of its item between commas, as in a list of elements; null when it has several
  UNIQUE (chunk, items)
) STRICT;

-- The units that a reassociate rule assigned to the records of one cluster, at most 32 to a list. The view assigned gives
-- a row for each.
CREATE TABLE assigned_units (
  first INTEGER PRIMARY KEY,     -- number of the first finding; the others follow
  attack INTEGER NOT NULL REFERENCES attack (id) ON DELETE CASCADE, -- the attack
  cluster INTEGER NOT NULL,      -- the cluster
  units TEXT NOT NULL,           -- the units, as a JSON list: the number of the unit times the records of the cluster, plus the row it was assigned to
  ranked_by TEXT                 -- what each row was ranked by, as a JSON list: a place from the first number of the attack, null where no score is known; null when none is known
) STRICT;

-- [node] One variant of a scenario, run once.
CREATE TABLE run (
  id INTEGER PRIMARY KEY,        -- number of the run
  digest TEXT NOT NULL UNIQUE,   -- key of the variant and all it read
  scenario TEXT NOT NULL,        -- the scenario's title
  variant TEXT NOT NULL,         -- the variant's name
  repetition INTEGER NOT NULL,   -- which repetition of the variant, from 1
  seed INTEGER NOT NULL,         -- the seed of its random choices, as a signed 64-bit number
  config TEXT NOT NULL,          -- the variant's whole configuration, as JSON
  started TEXT NOT NULL,         -- when it ran, UTC
  release INTEGER NOT NULL REFERENCES release (id) -- the release it attacked
) STRICT;

-- The order in which runs were asked for, also where all that they need was there already: `last` is the run of the
-- request with the highest number.
CREATE TABLE request (
  id INTEGER PRIMARY KEY,        -- number of the request
  run INTEGER NOT NULL UNIQUE REFERENCES run (id) ON DELETE CASCADE -- the run, with its last request alone
) STRICT;

-- The attacks of a run, and their names in the scenario.
CREATE TABLE run_attack (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE, -- the run
  position INTEGER NOT NULL,     -- place in the scenario's list, from 0
  label TEXT NOT NULL,           -- the name the scenario gives the attack
  attack INTEGER NOT NULL REFERENCES attack (id) ON DELETE CASCADE, -- the attack
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- The dictionary of figures: what each key in the column measure of the views result and result_by_table means.
CREATE TABLE figure (
  key TEXT PRIMARY KEY,          -- the key of the figure, as in scenarios and in the column measure
  position INTEGER NOT NULL,     -- place in tables and texts, from 0
  title TEXT NOT NULL,           -- how it is printed
  unit TEXT NOT NULL,            -- share, ratio, seconds and the like, or the things that it counts, such as people
  direction TEXT NOT NULL,       -- the meaning of a higher value: more is exposed, more is lost, it takes longer; empty where a higher value is neither
  definition TEXT NOT NULL,      -- the definition in a few words
  base TEXT NOT NULL,            -- the key of the same figure without the ending of its way, such as precision for precision_baseline
  way TEXT,                      -- when it is measured, such as baseline or release; null for a figure that is measured in one way only
  families TEXT NOT NULL         -- the families that measure it, as a JSON list
) STRICT, WITHOUT ROWID;

-- The acceptance criteria of `decloak advise`: a figure may be at most its limit. The store of an older version has them
-- after its next run.
CREATE TABLE criterion (
  preset TEXT NOT NULL,          -- the name of a set of criteria, such as public
  figure TEXT NOT NULL,          -- the key of the figure, as in the table figure
  position INTEGER NOT NULL,     -- place in the preset, from 0
  at_most REAL NOT NULL,         -- the limit: the highest accepted value, a share for a number of people
  source TEXT NOT NULL,          -- the source of the limit
  PRIMARY KEY (preset, figure)
) STRICT, WITHOUT ROWID;

-- One family of measures taken of one attack.
CREATE TABLE measurement (
  id INTEGER PRIMARY KEY,        -- number of the measurement
  digest TEXT NOT NULL UNIQUE,   -- key of the stage: the attack, the measure and its settings
  attack INTEGER NOT NULL REFERENCES attack (id) ON DELETE CASCADE, -- the attack measured
  family TEXT NOT NULL,          -- what was measured together
  note TEXT                      -- why measures are missing, null when none is
) STRICT;

-- Which measurements belong to a run.
CREATE TABLE run_measurement (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE, -- the run
  measurement INTEGER NOT NULL REFERENCES measurement (id) ON DELETE CASCADE, -- the measurement
  PRIMARY KEY (run, measurement)
) STRICT, WITHOUT ROWID;

-- A measured figure with the counts behind it.
CREATE TABLE measure (
  measurement INTEGER NOT NULL REFERENCES measurement (id) ON DELETE CASCADE, -- the measurement
  scope INTEGER NOT NULL,        -- number of the distance table, cluster or tenth of probability it is about, -1 for all pooled
  name TEXT NOT NULL,            -- the figure, such as precision
  value REAL,                    -- its value, null where it is undefined
  part REAL,                     -- the count above the line of a ratio
  whole REAL,                    -- the count below the line of a ratio
  PRIMARY KEY (measurement, scope, name)
) STRICT, WITHOUT ROWID;

-- A checksum for each stage: of its row and of all rows that belong to it, as they were written. The tables item and
-- number, which all stages share, have one each, up to their last row. It tells a store that something else has changed
-- from a fault of decloak.
CREATE TABLE seal (
  kind TEXT NOT NULL,            -- the table of the stage, such as release
  id INTEGER NOT NULL,           -- number of its row
  checksum INTEGER NOT NULL,     -- CRC-32 of the rows
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- The time that each stage took, computing and writing. It differs from machine to machine.
CREATE TABLE stage_time (
  kind TEXT NOT NULL,            -- the table of the stage, such as relatedness
  id INTEGER NOT NULL,           -- number of its row
  name TEXT NOT NULL,            -- the method, measure of relatedness, rule or family of figures, else the kind of stage
  dataset INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE, -- the original data, else what the release publishes
  cpu_seconds REAL NOT NULL,     -- seconds of the processor, child processes included
  seconds REAL NOT NULL,         -- seconds of the clock
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX member_of_item ON member_of (item);
CREATE INDEX distance_row_txn ON distance_row (txn);
CREATE INDEX counted_pair_b ON counted_pair (b);
CREATE INDEX fact_attack ON fact (attack);
CREATE INDEX elimination_attack ON elimination (attack);
CREATE INDEX eliminated_members_elimination ON eliminated_members (elimination);
CREATE INDEX assigned_units_attack ON assigned_units (attack, cluster);

-- [node] A transaction: the set of items of one person.
CREATE VIEW txn AS
SELECT
  x.id AS id,                    -- number of the transaction
  x.dataset AS dataset,          -- the data set it belongs to
  x.id - d.first AS position,    -- place in the data set, from 0
  coalesce(x.label, CAST(x.id - d.first + 1 AS TEXT)) AS label -- its id in the file, or its line number
FROM record x
JOIN dataset d ON d.id = x.dataset;

-- [edge contains] A transaction shows a plain item.
CREATE VIEW contains AS
SELECT
  x.id AS txn,                   -- the transaction
  e.key AS position,             -- place among the elements of the transaction, from 0
  e.value AS item                -- the item
FROM record x, json_each(x.elements) e
WHERE e.value > 0;

-- Data sets whose records are in files. The views txn and contains have none of them; `decloak sql --parts` reads them.
CREATE VIEW records_in_files AS
SELECT
  p.dataset AS dataset,          -- the data set
  sum(p.records) AS records,     -- number of its records
  sum(p.elements) AS elements,   -- number of item occurrences in them
  count(*) AS files,             -- number of files
  group_concat(p.path, '; ') AS paths -- the files, by their paths from the folder of the store
FROM part p
GROUP BY p.dataset;

-- [edge published_as] A published record contains a generalised item.
CREATE VIEW published_as AS
SELECT
  x.id AS txn,                   -- the published transaction
  e.key AS position,             -- place among the elements of the transaction, from 0
  -e.value AS generalised        -- the generalised item shown there
FROM record x, json_each(x.elements) e
WHERE e.value < 0;

-- An item of a published itemset.
CREATE VIEW published_itemset_item AS
SELECT
  p.id AS itemset,               -- the published itemset
  e.key AS position,             -- place among its items, from 0
  e.value AS item                -- the item
FROM published_itemset p, json_each(p.items) e;

-- [edge in_cluster] A row of a cluster: the record behind a sub-record of its first chunk, or behind none.
CREATE VIEW cluster_row AS
SELECT
  x.id AS txn,                   -- the published transaction that replaces it
  x.cluster AS cluster,          -- the cluster
  x.id - c.first AS row          -- the row, from 0: sub-records of the first chunk as published, then empty rows
FROM record x
JOIN cluster c ON c.id = x.cluster;

-- The supports of single items that a release publishes.
CREATE VIEW total AS
SELECT
  r.id AS release,               -- the release
  CAST(e.key AS INTEGER) AS item, -- the item
  e.value AS support             -- the number of records with it
FROM release r, json_each(r.totals) e;

-- [edge shows] A chunk publishes an item.
CREATE VIEW shows AS
SELECT
  k.id AS chunk,                 -- the chunk
  e.value AS item                -- the item
FROM chunk k, json_each(k.items) e;

-- [edge has_item] A sub-record holds an item.
CREATE VIEW has_item AS
SELECT
  s.id AS subrecord,             -- the sub-record
  e.value AS item                -- the item
FROM subrecord s, json_each(s.items) e;

-- [edge related] How far apart two items are.
CREATE VIEW related AS
SELECT
  r.id AS relatedness,           -- the measure
  s.item AS a,                   -- the context item
  CAST(e.key AS INTEGER) AS b,   -- the other item
  n.value AS score               -- the distance; null where the source gives no score
FROM relatedness r
JOIN scored_item s ON s.relatedness = r.id
JOIN json_each(s.scores) e
LEFT JOIN number n ON n.id = r.numbers + e.value;

-- A column of a distance table: one member of the generalised item.
CREATE VIEW distance_col AS
SELECT
  t.id AS distance_table,        -- the table
  e.key AS col,                  -- the column, from 0
  e.value AS item                -- the member
FROM distance_table t, json_each(t.members) e;

-- A cell of a distance table: how far a member is from the context in one transaction.
CREATE VIEW cell AS
SELECT
  r.distance_table AS distance_table, -- the table
  r.row AS row,                  -- the row
  e.key AS col,                  -- the column
  n.value AS d                   -- the distance; null where there is no score
FROM distance_row r
JOIN distance_table t ON t.id = r.distance_table
JOIN scoring s ON s.id = t.scoring
JOIN json_each(r.distances) e
LEFT JOIN number n ON n.id = s.numbers + e.value;

-- A plain item that speaks for or against the members in one row of a distance table.
CREATE VIEW context AS
SELECT
  r.distance_table AS distance_table, -- the table
  r.row AS row,                  -- the row
  e.value AS item                -- the context item
FROM distance_row r, json_each(r.context) e;

-- A member that an eliminate rule eliminated from one transaction. The view eliminated says from which.
CREATE VIEW eliminated_member AS
SELECT
  x.first + k.key AS finding,    -- the finding
  x.elimination AS elimination,  -- the elimination
  k.value / 3 AS cell,           -- the cell: row times columns plus column
  k.value % 3 AS group_kind,     -- the kind of group it was the farthest in: 0 table, 1 row, 2 column
  (SELECT n.value FROM elimination e JOIN attack a ON a.id = e.attack JOIN number n ON n.id = a.numbers + (SELECT value FROM json_each(x.weights, '$[' || k.key || ']'))
    WHERE e.id = x.elimination) AS weight, -- the weighted distance just before, null where it is the distance
  (SELECT n.value FROM elimination e JOIN attack a ON a.id = e.attack JOIN number n ON n.id = a.numbers + (SELECT value FROM json_each(x.suspicions, '$[' || k.key || ']'))
    WHERE e.id = x.elimination) AS suspicion -- what was compared with the threshold, null where that is the weight
FROM eliminated_members x, json_each(x.cells) k;

-- A unit that a reassociate rule assigned to a record. The view assigned says which.
CREATE VIEW assigned_unit AS
SELECT
  x.first + k.key AS finding,    -- the finding
  x.attack AS attack,            -- the attack
  c.first + k.value % c.size AS txn, -- the record it was assigned to
  k.value / c.size AS unit,      -- the unit
  (SELECT n.value FROM attack a JOIN number n ON n.id = a.numbers + (SELECT value FROM json_each(x.ranked_by, '$[' || k.key || ']')) WHERE a.id = x.attack) AS value -- what the record was ranked by, larger is closer; null where no score is known
FROM assigned_units x
JOIN cluster c ON c.id = x.cluster
JOIN json_each(x.units) k;

-- The finding of an eliminate rule: a member eliminated from a generalised item in one transaction.
CREATE VIEW eliminated AS
SELECT
  x.finding AS finding,          -- the finding
  e.attack AS attack,            -- the attack
  x.finding - e.first + 1 AS round, -- the round, from 1
  e.distance_table AS distance_table, -- the distance table
  x.cell / t.columns AS row,     -- the row of the cell
  x.cell % t.columns AS col,     -- the column of the cell
  CASE x.group_kind WHEN 0 THEN 'table' WHEN 1 THEN 'row' ELSE 'column' END AS group_kind, -- the kind of group it was the farthest in
  CASE WHEN e.suspected THEN x.suspicion WHEN e.weighted THEN x.weight ELSE n.value END AS suspicion, -- what was compared with the threshold
  e.threshold AS threshold,      -- the threshold, null where the rule has none
  CASE WHEN e.weighted THEN x.weight ELSE n.value END AS weight, -- the weighted distance of the cell just before it was eliminated
  n.value AS d                   -- the distance
FROM eliminated_member x
JOIN elimination e ON e.id = x.elimination
JOIN distance_table t ON t.id = e.distance_table
JOIN scoring s ON s.id = t.scoring
JOIN distance_row r ON r.distance_table = t.id AND r.row = x.cell / t.columns
LEFT JOIN number n ON n.id = s.numbers + (SELECT value FROM json_each(r.distances, '$[' || (x.cell % t.columns) || ']'));

-- The final weight of each member that an eliminate rule kept: the higher, the less likely the member is original.
CREATE VIEW kept AS
SELECT
  e.attack AS attack,            -- the attack
  e.distance_table AS distance_table, -- the distance table
  k.key / t.columns AS row,      -- the row of the cell
  k.key % t.columns AS col,      -- the column of the cell
  n.value AS weight              -- the weighted distance after the last round
FROM elimination e
JOIN distance_table t ON t.id = e.distance_table
JOIN attack a ON a.id = e.attack
JOIN scoring s ON s.id = t.scoring
JOIN json_each(e.kept) k
LEFT JOIN distance_row r ON NOT e.weighted AND r.distance_table = t.id AND r.row = k.key / t.columns
LEFT JOIN number n ON n.id = CASE
  WHEN e.weighted THEN a.numbers + k.value - 1
  ELSE s.numbers + (SELECT value FROM json_each(r.distances, '$[' || (k.key % t.columns) || ']')) END
WHERE k.value IS NOT 0;

-- The finding of a reassociate rule: a unit assigned to the record behind a row of a cluster.
CREATE VIEW assigned AS
SELECT
  a.finding AS finding,          -- the finding
  a.attack AS attack,            -- the attack
  a.txn AS txn,                  -- the record it was assigned to
  u.chunk AS chunk,              -- the chunk of the unit: a record chunk's number, T for terms, S0.1 for a shared one
  u.items AS unit,               -- the items of the unit, as a JSON list
  a.value AS value               -- what the record was ranked by, larger is closer; null where no score is known
FROM assigned_unit a
JOIN unit u ON u.id = a.unit;

-- [node] One result of an attack, for example one eliminated item.
CREATE VIEW finding AS
SELECT
  id AS id,                      -- number of the finding
  attack AS attack,              -- the attack that found it
  round AS round                 -- the round it was found in, from 1
FROM fact
UNION ALL SELECT x.finding, e.attack, x.finding - e.first + 1 FROM eliminated_member x JOIN elimination e ON e.id = x.elimination
UNION ALL SELECT finding, attack, 1 FROM assigned_unit;

-- The probability that each finding is right, for the attacks that give one.
CREATE VIEW probability AS
SELECT
  a.first + e.key AS finding,    -- the finding
  a.id AS attack,                -- the attack
  n.value AS p                   -- the probability, null where it is not known
FROM attack a
JOIN json_each(a.probabilities) e
LEFT JOIN number n ON n.id = a.numbers + e.value;

-- Every cell of every distance table with the names behind it.
CREATE VIEW named_cell AS
SELECT
  t.scoring AS scoring,          -- the scoring
  t.number AS item_group,        -- number of the distance table in its scoring
  c.row AS row,                  -- the row
  c.col AS col,                  -- the column
  x.label AS record,             -- the record of the row
  i.name AS item,                -- the member of the column
  g.label AS generalised,        -- the generalised item of the table
  c.d AS d,                      -- the distance, null where there is no score
  c.distance_table AS distance_table, -- number of the table in the store
  r.txn AS txn                   -- number of the transaction in the store
FROM cell c
JOIN distance_table t ON t.id = c.distance_table
JOIN generalised g ON g.id = t.generalised
JOIN distance_row r ON r.distance_table = c.distance_table AND r.row = c.row
JOIN txn x ON x.id = r.txn
JOIN item i ON i.id = (SELECT value FROM json_each(t.members, '$[' || c.col || ']'));

-- Every cell with whether the member really was in the transaction: ground truth.
CREATE VIEW truth_cell AS
SELECT
  r.distance_table AS distance_table, -- number of the table in the store
  r.row AS row,                  -- the row
  k.key AS col,                  -- the column
  EXISTS (SELECT 1 FROM truth_origin o JOIN contains s ON s.txn = o.original
          WHERE o.txn = r.txn AND s.item = k.value)
  OR EXISTS (SELECT 1 FROM truth_marked m WHERE m.txn = r.txn AND m.item = k.value) AS original -- 1 when it was
FROM distance_row r
JOIN distance_table t ON t.id = r.distance_table
JOIN json_each(t.members) k;

-- Every eliminated member of every run with the names behind it.
CREATE VIEW named_eliminated AS
SELECT
  ra.run AS run,                 -- the run
  ra.label AS attack,            -- the name the scenario gives the attack
  u.name AS rule,                -- the rule
  x.finding - e.first + 1 AS round, -- the round
  coalesce(o.label, CAST(o.id - d.first + 1 AS TEXT)) AS record, -- the record
  i.name AS item,                -- the member eliminated
  g.label AS generalised,        -- the generalised item it was eliminated from
  CASE x.group_kind WHEN 0 THEN 'table' WHEN 1 THEN 'row' ELSE 'column' END AS group_kind, -- the kind of group it was the farthest in
  CASE WHEN e.suspected THEN x.suspicion WHEN e.weighted THEN x.weight ELSE n.value END AS suspicion, -- what was compared with the threshold
  e.threshold AS threshold,      -- the threshold
  n.value AS d,                  -- the distance
  CASE WHEN e.weighted THEN x.weight ELSE n.value END AS weight, -- the weighted distance before it was eliminated
  t.number AS item_group,        -- number of the distance table in its scoring
  x.finding AS finding,          -- the finding
  a.id AS attack_number          -- number of the attack in the store
FROM run_attack ra
CROSS JOIN attack a ON a.id = ra.attack
CROSS JOIN rule u ON u.id = a.rule
CROSS JOIN elimination e ON e.attack = a.id
CROSS JOIN eliminated_member x ON x.elimination = e.id
CROSS JOIN distance_table t ON t.id = e.distance_table
CROSS JOIN scoring s ON s.id = t.scoring
CROSS JOIN generalised g ON g.id = t.generalised
CROSS JOIN distance_row r ON r.distance_table = t.id AND r.row = x.cell / t.columns
CROSS JOIN record o ON o.id = r.txn
CROSS JOIN dataset d ON d.id = o.dataset
CROSS JOIN item i ON i.id = (SELECT value FROM json_each(t.members, '$[' || (x.cell % t.columns) || ']'))
LEFT JOIN number n ON n.id = s.numbers + (SELECT value FROM json_each(r.distances, '$[' || (x.cell % t.columns) || ']'));

-- Every unit every run assigned to a record, with the names behind it.
CREATE VIEW named_assigned AS
SELECT
  ra.run AS run,                 -- the run
  ra.label AS attack,            -- the name the scenario gives the attack
  u.name AS rule,                -- the rule
  1 AS round,                    -- the round
  coalesce(o.label, CAST(o.id - d.first + 1 AS TEXT)) AS record, -- the record: cluster and row
  c.number AS cluster,           -- the cluster
  o.id - c.first AS row,         -- the row of the cluster
  g.chunk AS chunk,              -- the chunk of the unit: a record chunk's number, T for terms, S0.1 for a shared one
  (SELECT group_concat(value, ', ') FROM json_each(g.items)) AS unit, -- the items of the unit
  s.value AS value,              -- what the row was ranked by, larger is closer
  s.finding AS finding,          -- the finding
  a.id AS attack_number          -- number of the attack in the store
FROM run_attack ra
CROSS JOIN attack a ON a.id = ra.attack
CROSS JOIN rule u ON u.id = a.rule
CROSS JOIN assigned_unit s ON s.attack = a.id
CROSS JOIN unit g ON g.id = s.unit
CROSS JOIN record o ON o.id = s.txn
CROSS JOIN dataset d ON d.id = o.dataset
CROSS JOIN cluster c ON c.id = o.cluster;

-- Every figure of every run that is about all of its tables, clusters and tenths of probability together.
CREATE VIEW result AS
SELECT
  r.id AS run,                   -- the run
  r.scenario AS scenario,        -- the scenario's title
  r.variant AS variant,          -- the variant's name
  r.repetition AS repetition,    -- the repetition
  ra.label AS attack,            -- the name the scenario gives the attack
  m.name AS measure,             -- the figure, by its key in the table figure
  m.value AS value,              -- its value, null where it is undefined
  m.part AS part,                -- the count above the line of a ratio
  m.whole AS whole               -- the count below the line of a ratio
FROM run r
JOIN run_attack ra ON ra.run = r.id
JOIN run_measurement rm ON rm.run = r.id
JOIN measurement e ON e.id = rm.measurement AND e.attack = ra.attack
JOIN measure m ON m.measurement = e.id AND m.scope = -1;

-- Every figure of every run that is about one distance table, one cluster or one tenth of probability.
CREATE VIEW result_by_table AS
SELECT
  r.id AS run,                   -- the run
  r.scenario AS scenario,        -- the scenario's title
  r.variant AS variant,          -- the variant's name
  r.repetition AS repetition,    -- the repetition
  ra.label AS attack,            -- the name the scenario gives the attack
  m.scope AS scope,              -- number of the distance table, cluster or tenth of probability
  m.name AS measure,             -- the figure, by its key in the table figure
  m.value AS value,              -- its value, null where it is undefined
  m.part AS part,                -- the count above the line of a ratio
  m.whole AS whole               -- the count below the line of a ratio
FROM run r
JOIN run_attack ra ON ra.run = r.id
JOIN run_measurement rm ON rm.run = r.id
JOIN measurement e ON e.id = rm.measurement AND e.attack = ra.attack
JOIN measure m ON m.measurement = e.id AND m.scope >= 0;

-- Every figure of every run with its meaning, and the result of random guessing beside it.
CREATE VIEW named_result AS
SELECT
  v.run AS run,                  -- the run
  v.scenario AS scenario,        -- the scenario's title
  v.variant AS variant,          -- the variant's name
  v.repetition AS repetition,    -- the repetition
  v.attack AS attack,            -- the name the scenario gives the attack
  v.measure AS measure,          -- the figure, by its key in the table figure
  f.title AS title,              -- how the figure is printed
  f.unit AS unit,                -- its unit, or the things that it counts
  f.direction AS direction,      -- the meaning of a higher value
  v.value AS value,              -- its value, null where it is undefined
  v.part AS part,                -- the count above the line of a ratio
  v.whole AS whole,              -- the count below the line of a ratio
  (SELECT b.value FROM result b WHERE b.run = v.run AND b.attack = v.attack AND b.measure =
    CASE WHEN v.measure IN ('precision', 'accuracy') THEN 'baseline' ELSE v.measure || '_baseline' END) AS baseline -- the result of random guessing, null for a figure without one
FROM result v
JOIN figure f ON f.key = v.measure;

-- The figures that two runs have and that differ between them.
CREATE VIEW run_change AS
SELECT
  a.run AS first_run,            -- the earlier run
  b.run AS second_run,           -- the later run
  a.variant AS first_variant,    -- the variant of the earlier run
  b.variant AS second_variant,   -- the variant of the later run
  a.attack AS attack,            -- the name the scenarios give the attack
  a.measure AS measure,          -- the figure, by its key in the table figure
  f.title AS title,              -- how the figure is printed
  f.unit AS unit,                -- its unit, or the things that it counts
  a.value AS first_value,        -- its value in the earlier run
  b.value AS second_value,       -- its value in the later run
  b.value - a.value AS change    -- the later value minus the earlier one, null where one of them is undefined
FROM result a
JOIN result b ON b.run > a.run AND b.attack = a.attack AND b.measure = a.measure
JOIN figure f ON f.key = a.measure
WHERE a.value IS NOT b.value;

-- Every member that an attack eliminated and every unit that it assigned to a record, with names.
CREATE VIEW named_finding AS
SELECT
  x.run AS run,                  -- the run
  r.variant AS variant,          -- the variant's name
  x.attack AS attack,            -- the name the scenario gives the attack
  x.rule AS rule,                -- the rule
  x.record AS record,           -- the published record: its id or number, or its cluster and row
  x.item AS item,                -- the member eliminated, or the items of the unit assigned
  x.generalised AS hidden_in,    -- the generalised item, or the chunk
  x.round AS round,              -- the round it was found in, from 1
  x.finding AS finding           -- number of the finding
FROM named_eliminated x
JOIN run r ON r.id = x.run
UNION ALL SELECT x.run, r.variant, x.attack, x.rule, x.cluster || '.' || x.row, x.unit, 'chunk ' || x.chunk, 1, x.finding
FROM named_assigned x
JOIN run r ON r.id = x.run;

-- The published records about which attacks found something. `decloak explain RUN --finding FINDING` gives the reason.
CREATE VIEW exposed_record AS
SELECT
  ra.run AS run,                 -- the run
  r.variant AS variant,          -- the variant's name
  ra.label AS attack,            -- the name the scenario gives the attack
  coalesce(o.label, c.number || '.' || (o.id - c.first), CAST(o.id - d.first + 1 AS TEXT)) AS record, -- the published record: its id, its cluster and row, or its number
  s.findings AS findings,        -- the number of findings about the record
  s.finding AS finding           -- the first of them
FROM (
  SELECT attack, txn, count(*) AS findings, min(finding) AS finding FROM assigned_unit GROUP BY attack, txn
  UNION ALL SELECT e.attack, w.txn, count(*), min(x.finding)
  FROM eliminated_member x
  JOIN elimination e ON e.id = x.elimination
  JOIN distance_table t ON t.id = e.distance_table
  JOIN distance_row w ON w.distance_table = t.id AND w.row = x.cell / t.columns
  GROUP BY e.attack, w.txn) s
JOIN run_attack ra ON ra.attack = s.attack
JOIN run r ON r.id = ra.run
JOIN record o ON o.id = s.txn
JOIN dataset d ON d.id = o.dataset
LEFT JOIN cluster c ON c.id = o.cluster;

-- The items, or the units of items, about which attacks found something.
CREATE VIEW exposed_item AS
SELECT
  ra.run AS run,                 -- the run
  r.variant AS variant,          -- the variant's name
  ra.label AS attack,            -- the name the scenario gives the attack
  s.item AS item,                -- the member eliminated, or the items of the unit assigned
  sum(s.findings) AS findings    -- the number of findings about it
FROM (
  SELECT g.attack, (SELECT group_concat(value, ', ') FROM json_each(u.items)) AS item, g.findings
  FROM (SELECT attack, unit, count(*) AS findings FROM assigned_unit GROUP BY attack, unit) g
  JOIN unit u ON u.id = g.unit
  UNION ALL SELECT e.attack, (SELECT i.name FROM json_each(t.members) k JOIN item i ON i.id = k.value WHERE k.key = g.place), g.findings
  FROM (
    SELECT x.elimination, x.cell % t.columns AS place, count(*) AS findings
    FROM eliminated_member x
    JOIN elimination e ON e.id = x.elimination
    JOIN distance_table t ON t.id = e.distance_table
    GROUP BY x.elimination, x.cell % t.columns) g
  JOIN elimination e ON e.id = g.elimination
  JOIN distance_table t ON t.id = e.distance_table) s
JOIN run_attack ra ON ra.attack = s.attack
JOIN run r ON r.id = ra.run
GROUP BY ra.run, ra.position, s.item;

-- Every finding, and whether it is right. An elimination is right if the person does not have the item, an assignment is
-- right if the person has all items of the unit.
CREATE VIEW truth_finding AS
SELECT
  ra.run AS run,                 -- the run
  r.variant AS variant,          -- the variant's name
  ra.label AS attack,            -- the name the scenario gives the attack
  (SELECT coalesce(p.label, CAST(p.id - d.first + 1 AS TEXT)) FROM record p JOIN dataset d ON d.id = p.dataset WHERE p.id = o.original) AS person, -- the original record: its id in the file, or its line number
  (SELECT i.name FROM item i WHERE i.id = (SELECT value FROM json_each(t.members, '$[' || (x.cell % t.columns) || ']'))) AS item, -- the member eliminated, or the items of the unit assigned
  (SELECT instr(',' || substr(p.elements, 2, length(p.elements) - 2) || ',', ',' || (SELECT value FROM json_each(t.members, '$[' || (x.cell % t.columns) || ']')) || ',') = 0
    FROM record p WHERE p.id = o.original) AS correct, -- 1 when the finding is right, else 0
  x.finding AS finding           -- number of the finding
FROM run r
CROSS JOIN run_attack ra ON ra.run = r.id
CROSS JOIN attack a ON a.id = ra.attack
CROSS JOIN elimination e ON e.attack = a.id
CROSS JOIN eliminated_member x ON x.elimination = e.id
CROSS JOIN distance_table t ON t.id = e.distance_table
CROSS JOIN distance_row w ON w.distance_table = t.id AND w.row = x.cell / t.columns
CROSS JOIN truth_origin o ON o.txn = w.txn
UNION ALL SELECT
  ra.run, r.variant, ra.label,
  coalesce(p.label, CAST(p.id - (SELECT d.first FROM dataset d WHERE d.id = p.dataset) + 1 AS TEXT)),
  (SELECT group_concat(value, ', ') FROM json_each(u.items)),
  CASE WHEN u.mark IS NOT NULL THEN instr(',' || substr(p.elements, 2, length(p.elements) - 2) || ',', u.mark) > 0
    ELSE NOT EXISTS (SELECT 1 FROM json_each(u.items) n JOIN item i ON i.name = n.value
      WHERE i.id NOT IN (SELECT k.value FROM json_each(p.elements) k)) END,
  s.finding
FROM run r
CROSS JOIN run_attack ra ON ra.run = r.id
CROSS JOIN attack a ON a.id = ra.attack
CROSS JOIN assigned_unit s ON s.attack = a.id
CROSS JOIN unit u ON u.id = s.unit
CROSS JOIN truth_origin o ON o.txn = s.txn
CROSS JOIN record p ON p.id = o.original;

-- The people with a finding of an attack, with the number of findings that are right, as in truth_finding.
CREATE VIEW truth_exposed_record AS
SELECT
  ra.run AS run,                 -- the run
  r.variant AS variant,          -- the variant's name
  ra.label AS attack,            -- the name the scenario gives the attack
  coalesce(p.label, CAST(p.id - d.first + 1 AS TEXT)) AS person, -- the original record: its id in the file, or its line number
  s.findings AS findings,        -- the number of findings about the person
  s.correct AS correct           -- the number of these that are right
FROM (
  SELECT m.attack, m.original, sum(m.findings) AS findings, sum((
    SELECT sum(CASE WHEN u.mark IS NOT NULL THEN instr(m.elements, u.mark) > 0
      ELSE NOT EXISTS (SELECT 1 FROM json_each(u.items) n JOIN item i ON i.name = n.value
        WHERE instr(m.elements, ',' || i.id || ',') = 0) END)
    FROM json_each(m.units) k CROSS JOIN unit u ON u.id = k.value)) AS correct
  FROM (
    SELECT g.attack, o.original, r.value AS units, length(r.value) - length(replace(r.value, ',', '')) + 1 AS findings,
      ',' || substr(p.elements, 2, length(p.elements) - 2) || ',' AS elements
    FROM (
      -- The units of each row, a cluster at a time: to sort all findings at once takes longer. The limit keeps SQLite
      -- from making elements again for each finding.
      SELECT x.attack, c.first, (SELECT '{' || group_concat('"' || row || '":[' || units || ']') || '}' FROM (
        SELECT k.value % c.size AS row, group_concat(k.value / c.size) AS units
        FROM assigned_units y, json_each(y.units) k WHERE y.attack = x.attack AND y.cluster = x.cluster GROUP BY 1)) AS rows
      FROM (SELECT DISTINCT attack, cluster FROM assigned_units) x JOIN cluster c ON c.id = x.cluster) g
    CROSS JOIN json_each(g.rows) r
    CROSS JOIN truth_origin o ON o.txn = g.first + r.key
    CROSS JOIN record p ON p.id = o.original
    LIMIT -1) m
  GROUP BY m.attack, m.original
  UNION ALL SELECT e.attack, o.original, count(*), sum(
    instr(',' || substr(p.elements, 2, length(p.elements) - 2) || ',', ',' || (SELECT value FROM json_each(t.members, '$[' || (x.cell % t.columns) || ']')) || ',') = 0)
  FROM eliminated_member x
  JOIN elimination e ON e.id = x.elimination
  JOIN distance_table t ON t.id = e.distance_table
  JOIN distance_row v ON v.distance_table = t.id AND v.row = x.cell / t.columns
  JOIN truth_origin o ON o.txn = v.txn
  JOIN record p ON p.id = o.original
  GROUP BY e.attack, o.original) s
JOIN run_attack ra ON ra.attack = s.attack
JOIN run r ON r.id = ra.run
JOIN record p ON p.id = s.original
JOIN dataset d ON d.id = p.dataset;

-- Evidence edges of a finding: the record, the eliminated member and the context items its distance was calculated from;
-- of an assigned unit the record and the items.
CREATE VIEW derived_from AS
SELECT
  x.finding AS finding,          -- the finding
  'txn' AS kind,                 -- kind of the node it rests on
  r.txn AS id                    -- number of that node
FROM eliminated_member x
JOIN elimination e ON e.id = x.elimination
JOIN distance_table t ON t.id = e.distance_table
JOIN distance_row r ON r.distance_table = t.id AND r.row = x.cell / t.columns
UNION ALL
SELECT x.finding, 'item', (SELECT value FROM json_each(t.members, '$[' || (x.cell % t.columns) || ']'))
FROM eliminated_member x
JOIN elimination e ON e.id = x.elimination
JOIN distance_table t ON t.id = e.distance_table
UNION ALL
SELECT x.finding, 'item', c.value
FROM eliminated_member x
JOIN elimination e ON e.id = x.elimination
JOIN distance_table t ON t.id = e.distance_table
JOIN distance_row r ON r.distance_table = t.id AND r.row = x.cell / t.columns, json_each(r.context) c
UNION ALL
SELECT s.finding, 'txn', s.txn FROM assigned_unit s
UNION ALL
SELECT s.finding, 'item', i.id FROM assigned s, json_each(s.unit) e JOIN item i ON i.name = e.value;

-- The items that something published shows; what only originals hold is not among them.
CREATE VIEW published_item AS
SELECT
  c.item AS item                 -- the item
FROM contains c
JOIN txn x ON x.id = c.txn
JOIN dataset d ON d.id = x.dataset AND d.kind = 'published'
UNION SELECT m.item FROM member_of m WHERE m.generalised IN (SELECT generalised FROM published_as)
UNION SELECT item FROM shows;

-- The nodes of hierarchies that a release shows as labels; what else a hierarchy holds was not published.
CREATE VIEW published_concept AS
SELECT
  g.id AS generalised,           -- the generalised item of the release
  c.id AS concept                -- the node of its hierarchy
FROM generalised g
JOIN release r ON r.id = g.release
JOIN concept c ON c.hierarchy = r.hierarchy AND c.label = g.label
-- The plus keeps SQLite from reading all records where there is no hierarchy.
WHERE +g.id IN (SELECT generalised FROM published_as);

-- Every node of the graph of the published data and of the findings. No original is in it: see truth_node.
CREATE VIEW node AS
SELECT
  'dataset' AS kind,             -- kind of the node
  id AS id,                      -- number within its kind
  origin AS label                -- how it is printed
FROM dataset WHERE kind = 'published'
UNION ALL SELECT 'item', id, name FROM item WHERE id IN (SELECT item FROM published_item)
UNION ALL SELECT 'txn', x.id, x.label FROM txn x JOIN dataset d ON d.id = x.dataset AND d.kind = 'published'
UNION ALL SELECT 'release', id, method FROM release
UNION ALL SELECT 'generalised', g.id, g.label FROM generalised g
  WHERE g.id IN (SELECT generalised FROM published_as)
UNION ALL SELECT 'hierarchy', id, origin FROM hierarchy
UNION ALL SELECT 'concept', id, label FROM concept WHERE id IN (SELECT concept FROM published_concept)
UNION ALL SELECT 'cluster', id, 'cluster ' || number FROM cluster
UNION ALL SELECT 'joint', id, 'joint cluster ' || number FROM joint
UNION ALL SELECT 'chunk', id, kind || ' chunk ' || number FROM chunk
UNION ALL SELECT 'subrecord', id, 'sub-record ' || number FROM subrecord
UNION ALL SELECT 'attacker', id, model || ' attacker' FROM attacker
UNION ALL SELECT 'run', id, scenario || ': ' || variant FROM run
UNION ALL SELECT 'finding', id, 'round ' || round FROM finding;

-- Every edge of the graph of the published data and of the findings; each joins two of its nodes.
CREATE VIEW edge AS
-- Several kinds of edges need the labels that transactions show: all records are read once for them.
WITH shown_label AS MATERIALIZED (SELECT DISTINCT generalised FROM published_as),
shown_concept AS MATERIALIZED (
  SELECT g.id AS generalised, c.id AS concept
  FROM shown_label s
  JOIN generalised g ON g.id = s.generalised
  JOIN release r ON r.id = g.release
  JOIN concept c ON c.hierarchy = r.hierarchy AND c.label = g.label)
SELECT
  'txn' AS source_kind,          -- kind of the node it leaves
  c.txn AS source_id,            -- number of that node
  'contains' AS kind,            -- kind of the edge
  'item' AS target_kind,         -- kind of the node it reaches
  c.item AS target_id,           -- number of that node
  NULL AS weight                 -- its weight: a score or distance where there is one
FROM contains c JOIN txn x ON x.id = c.txn JOIN dataset d ON d.id = x.dataset AND d.kind = 'published'
UNION ALL SELECT 'txn', txn, 'published_as', 'generalised', generalised, NULL FROM published_as
UNION ALL SELECT 'item', m.item, 'member_of', 'generalised', m.generalised, NULL FROM member_of m
  WHERE m.generalised IN shown_label
UNION ALL SELECT 'generalised', generalised, 'stands_for', 'concept', concept, NULL FROM shown_concept
UNION ALL SELECT 'release', id, 'generalises_in', 'hierarchy', hierarchy, NULL FROM release WHERE hierarchy IS NOT NULL
UNION ALL SELECT 'concept', id, 'in_hierarchy', 'hierarchy', hierarchy, NULL FROM concept
  WHERE id IN (SELECT concept FROM shown_concept)
UNION ALL SELECT 'txn', x.id, 'in_dataset', 'dataset', x.dataset, NULL FROM txn x
  JOIN dataset d ON d.id = x.dataset AND d.kind = 'published'
UNION ALL SELECT 'release', id, 'publishes', 'dataset', dataset, NULL FROM release
UNION ALL SELECT 'concept', child, 'is_a', 'concept', parent, NULL FROM is_a
  WHERE child IN (SELECT concept FROM shown_concept) AND parent IN (SELECT concept FROM shown_concept)
UNION ALL SELECT 'cluster', id, 'in_release', 'release', release, NULL FROM cluster
UNION ALL SELECT 'joint', joint, 'joins', 'cluster', cluster, NULL FROM joins
UNION ALL SELECT 'txn', txn, 'in_cluster', 'cluster', cluster, NULL FROM cluster_row
UNION ALL SELECT 'chunk', id, 'in_cluster', 'cluster', cluster, NULL FROM chunk WHERE cluster IS NOT NULL
UNION ALL SELECT 'chunk', id, 'in_joint', 'joint', joint, NULL FROM chunk WHERE joint IS NOT NULL
UNION ALL SELECT 'subrecord', id, 'in_chunk', 'chunk', chunk, NULL FROM subrecord
UNION ALL SELECT 'subrecord', subrecord, 'has_item', 'item', item, NULL FROM has_item
UNION ALL SELECT 'chunk', chunk, 'shows', 'item', item, NULL FROM shows
UNION ALL SELECT 'item', a, 'related', 'item', b, score FROM (
  WITH known AS MATERIALIZED (SELECT item FROM published_item)
  SELECT * FROM related WHERE a IN known AND b IN known)
UNION ALL SELECT 'run', run, 'made', 'finding', f.id, NULL FROM run_attack ra JOIN finding f ON f.attack = ra.attack
UNION ALL SELECT 'finding', finding, 'derived_from', kind, id, NULL FROM derived_from;

-- Every node that is not published: originals, items that only they hold, labels that no transaction shows, what else
-- hierarchies hold, and the itemsets an attacker is given to know, which are of originals.
CREATE VIEW truth_node AS
SELECT
  'dataset' AS kind,             -- kind of the node
  id AS id,                      -- number within its kind
  origin AS label                -- how it is printed
FROM dataset WHERE kind = 'original'
UNION ALL SELECT 'item', id, name FROM item WHERE id NOT IN (SELECT item FROM published_item)
UNION ALL SELECT 'txn', x.id, x.label FROM txn x JOIN dataset d ON d.id = x.dataset AND d.kind = 'original'
UNION ALL SELECT 'generalised', g.id, g.label FROM generalised g
  WHERE g.id NOT IN (SELECT generalised FROM published_as)
UNION ALL SELECT 'concept', id, label FROM concept WHERE id NOT IN (SELECT concept FROM published_concept)
UNION ALL SELECT 'knowledge', id, 'itemset ' || id FROM knowledge;

-- Every edge of the unpublished data; each joins two nodes of truth_node or node. They never reveal which
-- transaction of a release was made from which original.
CREATE VIEW truth_edge AS
SELECT
  'txn' AS source_kind,          -- kind of the node it leaves
  c.txn AS source_id,            -- number of that node
  'contains' AS kind,            -- kind of the edge
  'item' AS target_kind,         -- kind of the node it reaches
  c.item AS target_id,           -- number of that node
  NULL AS weight                 -- its weight: a score or distance where there is one
FROM contains c JOIN txn x ON x.id = c.txn JOIN dataset d ON d.id = x.dataset AND d.kind = 'original'
UNION ALL SELECT 'item', m.item, 'member_of', 'generalised', m.generalised, NULL FROM member_of m
  WHERE m.generalised NOT IN (SELECT generalised FROM published_as)
UNION ALL SELECT 'generalised', g.id, 'stands_for', 'concept', c.id, NULL FROM generalised g
  JOIN release r ON r.id = g.release JOIN concept c ON c.hierarchy = r.hierarchy AND c.label = g.label
  WHERE g.id NOT IN (SELECT generalised FROM published_as)
UNION ALL SELECT 'concept', id, 'in_hierarchy', 'hierarchy', hierarchy, NULL FROM concept
  WHERE id NOT IN (SELECT concept FROM published_concept)
UNION ALL SELECT 'txn', x.id, 'in_dataset', 'dataset', x.dataset, NULL FROM txn x
  JOIN dataset d ON d.id = x.dataset AND d.kind = 'original'
UNION ALL SELECT 'concept', child, 'is_a', 'concept', parent, NULL FROM is_a
  WHERE child NOT IN (SELECT concept FROM published_concept) OR parent NOT IN (SELECT concept FROM published_concept)
UNION ALL SELECT 'concept', id, 'stands_for', 'item', item, NULL FROM concept WHERE item IS NOT NULL
UNION ALL SELECT 'item', a, 'related', 'item', b, score FROM related
  WHERE a NOT IN (SELECT item FROM published_item) OR b NOT IN (SELECT item FROM published_item)
UNION ALL SELECT 'attacker', attacker, 'has', 'knowledge', id, NULL FROM knowledge
UNION ALL SELECT 'knowledge', knowledge, 'knows', 'item', item, NULL FROM knows;
