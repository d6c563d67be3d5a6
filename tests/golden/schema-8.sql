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
  note TEXT                      -- what a reader of results should know of it, null when nothing
) STRICT;

-- [node] An item name; one vocabulary for the whole store.
CREATE TABLE item (
  id INTEGER PRIMARY KEY,        -- number of the item, which goes by its name alone
  name TEXT NOT NULL UNIQUE      -- its name as published
) STRICT;

-- [node] A transaction: the set of items of one person.
CREATE TABLE txn (
  id INTEGER PRIMARY KEY,        -- number of the transaction
  dataset INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE, -- the data set it belongs to
  position INTEGER NOT NULL,     -- place in the data set, from 0
  label TEXT NOT NULL,           -- its id in the file, or its line number
  UNIQUE (dataset, position),
  UNIQUE (dataset, label)
) STRICT;

-- [edge contains] A transaction shows a plain item.
CREATE TABLE contains (
  txn INTEGER NOT NULL REFERENCES txn (id) ON DELETE CASCADE, -- the transaction
  position INTEGER NOT NULL,     -- place among the elements of the transaction, from 0
  item INTEGER NOT NULL REFERENCES item (id), -- the item
  PRIMARY KEY (txn, position)
) STRICT, WITHOUT ROWID;

-- How much a data set holds, and whether rows show it: its transactions are kept as arrays, from which the rows of txn,
-- contains, published_as, cluster_row and truth_origin are made when a run ends, or by `decloak rows` where a store is
-- large.
CREATE TABLE extent (
  dataset INTEGER PRIMARY KEY REFERENCES dataset (id) ON DELETE CASCADE, -- the data set
  first INTEGER NOT NULL,        -- number of its first transaction; the others follow
  transactions INTEGER NOT NULL, -- how many transactions it has
  elements INTEGER NOT NULL,     -- how many elements they show
  pending TEXT                   -- null when its rows are there, else in words that they are not
) STRICT;

-- What data sets hold, as arrays of numbers: lengths (elements of each transaction), codes (the elements of all, by place
-- in elements), elements (items, generalised items as negative numbers), and labels where they are not 1, 2 and so on.
CREATE TABLE array (
  dataset INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE, -- the data set
  name TEXT NOT NULL,            -- what the array holds
  part INTEGER NOT NULL,         -- number of the part, from 0: a long array has several
  version INTEGER NOT NULL,      -- how it is written: 1 is one value after the other, little-endian
  form TEXT NOT NULL,            -- what a value is: u1, u2 and u4 whole numbers of so many bytes, i8, f8, or text
  checksum INTEGER NOT NULL,     -- CRC-32 of the content
  content BLOB NOT NULL,         -- the values; names each end with a zero byte
  PRIMARY KEY (dataset, name, part)
) STRICT;

-- The same of what only the evaluator knows: origins (place of the transaction that each of a release was made from),
-- and marked (place of a transaction and an item that a distance table file marks as original in it, one after the other).
CREATE TABLE truth_array (
  dataset INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE, -- the data set
  name TEXT NOT NULL,            -- what the array holds
  part INTEGER NOT NULL,         -- number of the part, from 0
  version INTEGER NOT NULL,      -- how it is written
  form TEXT NOT NULL,            -- what a value is
  checksum INTEGER NOT NULL,     -- CRC-32 of the content
  content BLOB NOT NULL,         -- the values
  PRIMARY KEY (dataset, name, part)
) STRICT;

-- How many findings an eliminate rule has, and whether rows show them: strikes are kept as arrays, from which the rows
-- of finding, struck and spared are made when a run ends, or by `decloak rows` where a store is large.
CREATE TABLE attack_extent (
  attack INTEGER PRIMARY KEY REFERENCES attack (id) ON DELETE CASCADE, -- the attack
  first INTEGER NOT NULL,        -- number of its first finding; the others follow
  findings INTEGER NOT NULL,     -- how many findings it has
  spared INTEGER NOT NULL,       -- how many cells it left
  pending TEXT                   -- null when its rows are there, else in words that they are not
) STRICT;

-- How many findings a reassociate rule has, and whether rows show them: who was given what is kept as arrays, from which
-- the rows of finding and assigned are made when a run ends, or by `decloak rows` where a store is large.
CREATE TABLE assigned_extent (
  attack INTEGER PRIMARY KEY REFERENCES attack (id) ON DELETE CASCADE, -- the attack
  first INTEGER NOT NULL,        -- number of its first finding; the others follow
  findings INTEGER NOT NULL,     -- how many findings it has
  pending TEXT                   -- null when its rows are there, else in words that they are not
) STRICT;

-- What eliminate rules struck and spared, as arrays of numbers: tables, rows, cols, rounds, groups (0 table, 1 row,
-- 2 column), suspicions, thresholds and weights of every strike in order, and spared_tables and so on of what was left.
-- What reassociate rules gave to whom: places (of the records in the release), chunks and units (by place in chunk_names
-- and unit_texts) and values. And probabilities, of the findings of either. They are packed by zlib (version 2).
CREATE TABLE attack_array (
  attack INTEGER NOT NULL REFERENCES attack (id) ON DELETE CASCADE, -- the attack
  name TEXT NOT NULL,            -- what the array holds
  part INTEGER NOT NULL,         -- number of the part, from 0
  version INTEGER NOT NULL,      -- how it is written
  form TEXT NOT NULL,            -- what a value is
  checksum INTEGER NOT NULL,     -- CRC-32 of the content
  content BLOB NOT NULL,         -- the values
  PRIMARY KEY (attack, name, part)
) STRICT;

-- How much the distance tables of a scoring hold, and whether rows show it: they are kept as arrays, from which the rows
-- of cell and context are made when a run ends, or by `decloak rows` where a store is large.
CREATE TABLE scoring_extent (
  scoring INTEGER PRIMARY KEY REFERENCES scoring (id) ON DELETE CASCADE, -- the scoring
  cells INTEGER NOT NULL,        -- how many cells its tables have
  contexts INTEGER NOT NULL,     -- how many items the contexts of all rows have
  pending TEXT                   -- null when its rows are there, else in words that they are not
) STRICT;

-- Cells and contexts of distance tables, as arrays of numbers: heights and widths of the tables in order, d (the
-- distances of all, row after row, NaN for no score), context_lengths (items of the context of each row),
-- context_codes (the items of all contexts, by place in context_items) and context_items. They are packed by zlib
-- (version 2).
CREATE TABLE scoring_array (
  scoring INTEGER NOT NULL REFERENCES scoring (id) ON DELETE CASCADE, -- the scoring
  name TEXT NOT NULL,            -- what the array holds
  part INTEGER NOT NULL,         -- number of the part, from 0
  version INTEGER NOT NULL,      -- how it is written
  form TEXT NOT NULL,            -- what a value is
  checksum INTEGER NOT NULL,     -- CRC-32 of the content
  content BLOB NOT NULL,         -- the values
  PRIMARY KEY (scoring, name, part)
) STRICT;

-- How many pairs of items a measure has scores of, and whether rows show them: they are kept as arrays, from which the
-- rows of related are made when a run ends, or by `decloak rows` where a store is large.
CREATE TABLE relatedness_extent (
  relatedness INTEGER PRIMARY KEY REFERENCES relatedness (id) ON DELETE CASCADE, -- the measure
  pairs INTEGER NOT NULL,        -- how many pairs it has
  pending TEXT                   -- null when its rows are there, else in words that they are not
) STRICT;

-- Scores of pairs of items, as arrays of numbers: items, a and b (the context item and the other item of each pair, by
-- place in items), and scores (NaN for none). They are packed by zlib (version 2).
CREATE TABLE relatedness_array (
  relatedness INTEGER NOT NULL REFERENCES relatedness (id) ON DELETE CASCADE, -- the measure
  name TEXT NOT NULL,            -- what the array holds
  part INTEGER NOT NULL,         -- number of the part, from 0
  version INTEGER NOT NULL,      -- how it is written
  form TEXT NOT NULL,            -- what a value is
  checksum INTEGER NOT NULL,     -- CRC-32 of the content
  content BLOB NOT NULL,         -- the values
  PRIMARY KEY (relatedness, name, part)
) STRICT;

-- [node] A published form of some data set.
CREATE TABLE release (
  id INTEGER PRIMARY KEY,        -- number of the release
  digest TEXT NOT NULL UNIQUE,   -- key of the stage that made it
  dataset INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE, -- its published transactions
  method TEXT NOT NULL,          -- how it was anonymised, 'unknown' when somebody else did
  parameters TEXT NOT NULL,      -- the settings of the method, as JSON
  hierarchy INTEGER REFERENCES hierarchy (id), -- the hierarchy its items were generalised in, null where there is none
  loss TEXT NOT NULL DEFAULT '{}', -- what it lost and what making and checking it took, as JSON
  notes TEXT NOT NULL DEFAULT '[]' -- what the measure of relatedness it was made by could not use, as a JSON list
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

-- [edge published_as] A transaction shows a generalised item.
CREATE TABLE published_as (
  txn INTEGER NOT NULL REFERENCES txn (id) ON DELETE CASCADE, -- the published transaction
  position INTEGER NOT NULL,     -- place among the elements of the transaction, from 0
  generalised INTEGER NOT NULL REFERENCES generalised (id) ON DELETE CASCADE, -- the generalised item shown there
  PRIMARY KEY (txn, position)
) STRICT, WITHOUT ROWID;

-- Which original data set a release was made from.
CREATE TABLE truth_release (
  release INTEGER PRIMARY KEY REFERENCES release (id) ON DELETE CASCADE, -- the release
  original INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE  -- the data set it was made from
) STRICT;

-- Which original transaction a published one was made from.
CREATE TABLE truth_origin (
  txn INTEGER PRIMARY KEY REFERENCES txn (id) ON DELETE CASCADE, -- the published transaction
  original INTEGER NOT NULL REFERENCES txn (id) ON DELETE CASCADE -- the transaction it was made from
) STRICT;

-- An item of the original that a release shows nowhere, nor anything that stands for it.
CREATE TABLE truth_suppressed (
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release
  item INTEGER NOT NULL REFERENCES item (id), -- the item
  PRIMARY KEY (release, item)
) STRICT, WITHOUT ROWID;

-- Which members of a generalised item a distance table file marks as original, when there is no original data set.
CREATE TABLE truth_marked (
  txn INTEGER NOT NULL REFERENCES txn (id) ON DELETE CASCADE, -- the published transaction
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
  item INTEGER REFERENCES item (id), -- the item a leaf stands for
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
  size INTEGER NOT NULL,         -- how many records it has
  UNIQUE (release, number)
) STRICT;

-- [edge in_cluster] A row of a cluster: the record behind a sub-record of its first chunk, or behind none.
CREATE TABLE cluster_row (
  txn INTEGER PRIMARY KEY,       -- the published transaction that stands for it
  cluster INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE, -- the cluster
  row INTEGER NOT NULL,          -- the row, from 0: sub-records of the first chunk as published, then empty rows
  UNIQUE (cluster, row)
) STRICT;

-- [node] A joint cluster: clusters that share chunks.
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
  number INTEGER NOT NULL,       -- number among those of its kind, from 0
  kind TEXT NOT NULL CHECK (kind IN ('record', 'shared', 'term')), -- record, shared or term
  UNIQUE (cluster, kind, number),
  UNIQUE (joint, number),
  CHECK ((cluster IS NULL) = (kind = 'shared') AND (joint IS NULL) = (kind <> 'shared'))
) STRICT;

-- [node, edge in_chunk] A sub-record: the part of one record that a chunk shows.
CREATE TABLE subrecord (
  id INTEGER PRIMARY KEY,        -- number of the sub-record in the store
  chunk INTEGER NOT NULL REFERENCES chunk (id) ON DELETE CASCADE, -- the chunk it belongs to
  number INTEGER NOT NULL,       -- number in the chunk, from 0, in published order
  UNIQUE (chunk, number)
) STRICT;

-- [edge has_item] A sub-record holds an item.
CREATE TABLE has_item (
  subrecord INTEGER NOT NULL REFERENCES subrecord (id) ON DELETE CASCADE, -- the sub-record
  item INTEGER NOT NULL REFERENCES item (id), -- the item
  PRIMARY KEY (subrecord, item)
) STRICT, WITHOUT ROWID;

-- [edge shows] A chunk publishes an item.
CREATE TABLE shows (
  chunk INTEGER NOT NULL REFERENCES chunk (id) ON DELETE CASCADE, -- the chunk
  item INTEGER NOT NULL REFERENCES item (id), -- the item
  PRIMARY KEY (chunk, item)
) STRICT, WITHOUT ROWID;

-- [node] An attacker of a disassociated release, by what is known before it is read.
CREATE TABLE attacker (
  id INTEGER PRIMARY KEY,        -- number of the attacker
  digest TEXT NOT NULL UNIQUE,   -- key of the stage that made it
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release attacked
  model TEXT NOT NULL,           -- strong, strong_pairs, moderate, weak or explicit; only strong knows without itemsets
  note TEXT                      -- why nothing could be known, null when something is
) STRICT;

-- [node] One itemset an attacker knows to be in somebody's record.
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
  warnings TEXT NOT NULL         -- counts it could not use, as a JSON list of sentences
) STRICT;

-- [edge related] How far apart two items are.
CREATE TABLE related (
  relatedness INTEGER NOT NULL REFERENCES relatedness (id) ON DELETE CASCADE, -- the measure
  a INTEGER NOT NULL REFERENCES item (id), -- the context item
  b INTEGER NOT NULL REFERENCES item (id), -- the other item
  score REAL,                    -- the distance; null where the source gives no score
  PRIMARY KEY (relatedness, a, b)
) STRICT, WITHOUT ROWID;

-- A counter of documents that was asked how often terms occur: a corpus or a search service. It was asked for each
-- count once; delete its row to have all of them asked for again.
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
  context TEXT NOT NULL          -- how many plain items make a context, 'all', or 'given'
) STRICT;

-- The distance table of one generalised item.
CREATE TABLE distance_table (
  id INTEGER PRIMARY KEY,        -- number of the table in the store
  scoring INTEGER NOT NULL REFERENCES scoring (id) ON DELETE CASCADE, -- the scoring it belongs to
  number INTEGER NOT NULL,       -- number in the scoring, from 0
  generalised INTEGER NOT NULL REFERENCES generalised (id) ON DELETE CASCADE, -- the generalised item it is about
  UNIQUE (scoring, number)
) STRICT;

-- A row of a distance table: one transaction that shows the generalised item.
CREATE TABLE distance_row (
  distance_table INTEGER NOT NULL REFERENCES distance_table (id) ON DELETE CASCADE, -- the table
  row INTEGER NOT NULL,          -- the row, from 0
  txn INTEGER NOT NULL,          -- the transaction
  PRIMARY KEY (distance_table, row)
) STRICT, WITHOUT ROWID;

-- A column of a distance table: one member of the generalised item.
CREATE TABLE distance_col (
  distance_table INTEGER NOT NULL REFERENCES distance_table (id) ON DELETE CASCADE, -- the table
  col INTEGER NOT NULL,          -- the column, from 0
  item INTEGER NOT NULL REFERENCES item (id), -- the member
  PRIMARY KEY (distance_table, col)
) STRICT, WITHOUT ROWID;

-- A cell of a distance table: how far a member is from the context in one transaction.
CREATE TABLE cell (
  distance_table INTEGER NOT NULL REFERENCES distance_table (id) ON DELETE CASCADE, -- the table
  row INTEGER NOT NULL,          -- the row
  col INTEGER NOT NULL,          -- the column
  d REAL,                        -- the distance; null where there is no score
  PRIMARY KEY (distance_table, row, col)
) STRICT, WITHOUT ROWID;

-- A plain item that speaks for or against the members in one row of a distance table.
CREATE TABLE context (
  distance_table INTEGER NOT NULL REFERENCES distance_table (id) ON DELETE CASCADE, -- the table
  row INTEGER NOT NULL,          -- the row
  item INTEGER NOT NULL REFERENCES item (id), -- the context item
  PRIMARY KEY (distance_table, row, item)
) STRICT, WITHOUT ROWID;

-- A rule text that has run.
CREATE TABLE rule (
  id INTEGER PRIMARY KEY,        -- number of the rule text
  digest TEXT NOT NULL UNIQUE,   -- key of the text
  name TEXT NOT NULL,            -- the rule's name
  form TEXT NOT NULL,            -- query, eliminate, reassociate or itemsets
  text TEXT NOT NULL             -- the rule file as it ran
) STRICT;

-- One rule run on one release with one set of parameters.
CREATE TABLE attack (
  id INTEGER PRIMARY KEY,        -- number of the attack
  digest TEXT NOT NULL UNIQUE,   -- key of the stage: the rule, its parameters and what it read
  rule INTEGER NOT NULL REFERENCES rule (id), -- the rule text that ran
  release INTEGER NOT NULL REFERENCES release (id) ON DELETE CASCADE, -- the release attacked
  scoring INTEGER REFERENCES scoring (id) ON DELETE CASCADE, -- the distance tables it read
  attacker INTEGER REFERENCES attacker (id) ON DELETE CASCADE, -- the attacker whose knowledge it read
  parameters TEXT NOT NULL       -- threshold and the like, whether weights are probabilities, why it had nothing to do, as JSON
) STRICT;

-- [node] One fact an attack derived.
CREATE TABLE finding (
  id INTEGER PRIMARY KEY,        -- number of the finding
  attack INTEGER NOT NULL REFERENCES attack (id) ON DELETE CASCADE, -- the attack that found it
  round INTEGER NOT NULL         -- the round it was found in, from 1
) STRICT;

-- The finding of an eliminate rule: a member struck from a generalised item in one transaction.
CREATE TABLE struck (
  finding INTEGER PRIMARY KEY REFERENCES finding (id) ON DELETE CASCADE, -- the finding
  distance_table INTEGER NOT NULL REFERENCES distance_table (id) ON DELETE CASCADE, -- the distance table
  row INTEGER NOT NULL,          -- the row of the cell
  col INTEGER NOT NULL,          -- the column of the cell
  "group" TEXT NOT NULL CHECK ("group" IN ('table', 'row', 'column')), -- the kind of group it was the farthest in
  suspicion REAL,                -- what was compared with the threshold
  threshold REAL,                -- the threshold, null where the rule has none
  weight REAL                    -- the weighted distance of the cell just before it was struck
) STRICT;

-- The weighted distance an eliminate rule leaves to a cell it did not strike: its own ranking of what is left.
CREATE TABLE spared (
  attack INTEGER NOT NULL REFERENCES attack (id) ON DELETE CASCADE, -- the attack
  distance_table INTEGER NOT NULL REFERENCES distance_table (id) ON DELETE CASCADE, -- the distance table
  row INTEGER NOT NULL,          -- the row of the cell
  col INTEGER NOT NULL,          -- the column of the cell
  weight REAL,                   -- the weighted distance after the last round
  PRIMARY KEY (attack, distance_table, row, col)
) STRICT, WITHOUT ROWID;

-- The finding of a reassociate rule: a unit given to the record behind a row of a cluster.
CREATE TABLE assigned (
  finding INTEGER PRIMARY KEY REFERENCES finding (id) ON DELETE CASCADE, -- the finding
  txn INTEGER NOT NULL,          -- the record it was given to
  chunk TEXT NOT NULL,           -- the chunk of the unit: a record chunk's number, T for terms, S0.1 for a shared one
  unit TEXT NOT NULL,            -- the items of the unit, as a JSON list
  value REAL                     -- what the row was ranked by, larger is closer; null where no score is known
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

-- Which attacks a run made, and what the scenario calls them.
CREATE TABLE run_attack (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE, -- the run
  position INTEGER NOT NULL,     -- place in the scenario's list, from 0
  label TEXT NOT NULL,           -- the name the scenario gives the attack
  attack INTEGER NOT NULL REFERENCES attack (id) ON DELETE CASCADE, -- the attack
  PRIMARY KEY (run, position)
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

CREATE INDEX contains_item ON contains (item);
CREATE INDEX member_of_item ON member_of (item);
CREATE INDEX published_as_generalised ON published_as (generalised);
CREATE INDEX finding_attack ON finding (attack);
CREATE INDEX struck_cell ON struck (distance_table, row, col);
CREATE INDEX assigned_txn ON assigned (txn);
CREATE INDEX subrecord_chunk ON subrecord (chunk);
CREATE INDEX distance_row_txn ON distance_row (txn);
CREATE INDEX counted_pair_b ON counted_pair (b);

-- Every cell of every distance table with the names behind it.
CREATE VIEW named_cell AS
SELECT
  t.scoring AS scoring,          -- the scoring
  t.number AS "table",           -- number of the table in its scoring
  c.row AS row,                  -- the row
  c.col AS col,                  -- the column
  x.label AS "transaction",      -- the transaction of the row
  i.name AS item,                -- the member of the column
  g.label AS generalised,        -- the generalised item of the table
  c.d AS d,                      -- the distance, null where there is no score
  c.distance_table AS distance_table, -- number of the table in the store
  r.txn AS txn                   -- number of the transaction in the store
FROM cell c
JOIN distance_table t ON t.id = c.distance_table
JOIN generalised g ON g.id = t.generalised
JOIN distance_row r ON r.distance_table = c.distance_table AND r.row = c.row
JOIN distance_col k ON k.distance_table = c.distance_table AND k.col = c.col
JOIN txn x ON x.id = r.txn
JOIN item i ON i.id = k.item;

-- Every cell with whether the member really was in the transaction: what the evaluator knows.
CREATE VIEW truth_cell AS
SELECT
  c.distance_table AS distance_table, -- number of the table in the store
  c.row AS row,                  -- the row
  c.col AS col,                  -- the column
  EXISTS (SELECT 1 FROM truth_origin o JOIN contains s ON s.txn = o.original
          WHERE o.txn = r.txn AND s.item = k.item)
  OR EXISTS (SELECT 1 FROM truth_marked m WHERE m.txn = r.txn AND m.item = k.item) AS original -- 1 when it was
FROM cell c
JOIN distance_row r ON r.distance_table = c.distance_table AND r.row = c.row
JOIN distance_col k ON k.distance_table = c.distance_table AND k.col = c.col;

-- Every strike of every run with the names behind it.
CREATE VIEW named_struck AS
SELECT
  ra.run AS run,                 -- the run
  ra.label AS attack,            -- the name the scenario gives the attack
  u.name AS rule,                -- the rule
  f.round AS round,              -- the round
  n."transaction" AS "transaction", -- the transaction
  n.item AS item,                -- the member struck
  n.generalised AS generalised,  -- the generalised item it was struck from
  s."group" AS "group",          -- the kind of group it was the farthest in
  s.suspicion AS suspicion,      -- what was compared with the threshold
  s.threshold AS threshold,      -- the threshold
  n.d AS d,                      -- the distance
  s.weight AS weight,            -- the weighted distance before it was struck
  n."table" AS "table",          -- number of the table in its scoring
  f.id AS finding                -- the finding
FROM run_attack ra
JOIN attack a ON a.id = ra.attack
JOIN rule u ON u.id = a.rule
JOIN finding f ON f.attack = a.id
JOIN struck s ON s.finding = f.id
JOIN named_cell n ON n.distance_table = s.distance_table AND n.row = s.row AND n.col = s.col;

-- Every unit every run gave to somebody, with the names behind it.
CREATE VIEW named_assigned AS
SELECT
  ra.run AS run,                 -- the run
  ra.label AS attack,            -- the name the scenario gives the attack
  u.name AS rule,                -- the rule
  f.round AS round,              -- the round
  x.label AS "transaction",      -- the record: cluster and row
  l.number AS cluster,           -- the cluster
  r.row AS row,                  -- the row of the cluster
  s.chunk AS chunk,              -- the chunk of the unit: a record chunk's number, T for terms, S0.1 for a shared one
  (SELECT group_concat(value, ', ') FROM json_each(s.unit)) AS unit, -- the items of the unit
  s.value AS value,              -- what the row was ranked by, larger is closer
  f.id AS finding                -- the finding
FROM run_attack ra
JOIN attack a ON a.id = ra.attack
JOIN rule u ON u.id = a.rule
JOIN finding f ON f.attack = a.id
JOIN assigned s ON s.finding = f.id
JOIN txn x ON x.id = s.txn
JOIN cluster_row r ON r.txn = s.txn
JOIN cluster l ON l.id = r.cluster;

-- Every measured figure of every run.
CREATE VIEW result AS
SELECT
  r.id AS run,                   -- the run
  r.scenario AS scenario,        -- the scenario's title
  r.variant AS variant,          -- the variant's name
  r.repetition AS repetition,    -- the repetition
  ra.label AS attack,            -- the name the scenario gives the attack
  m.scope AS "table",            -- number of the distance table, cluster or tenth of probability, -1 for all pooled
  m.name AS measure,             -- the figure
  m.value AS value,              -- its value, null where it is undefined
  m.part AS part,                -- the count above the line of a ratio
  m.whole AS whole               -- the count below the line of a ratio
FROM run r
JOIN run_attack ra ON ra.run = r.id
JOIN run_measurement rm ON rm.run = r.id
JOIN measurement e ON e.id = rm.measurement AND e.attack = ra.attack
JOIN measure m ON m.measurement = e.id;

-- What a finding rests on, as edges: the transaction and the member of the cell, and the context items of its row.
CREATE VIEW derived_from AS
SELECT
  s.finding AS finding,          -- the finding
  'txn' AS kind,                 -- kind of the node it rests on
  r.txn AS id                    -- number of that node
FROM struck s
JOIN distance_row r ON r.distance_table = s.distance_table AND r.row = s.row
UNION ALL
SELECT s.finding, 'item', k.item
FROM struck s
JOIN distance_col k ON k.distance_table = s.distance_table AND k.col = s.col
UNION ALL
SELECT s.finding, 'item', c.item
FROM struck s
JOIN context c ON c.distance_table = s.distance_table AND c.row = s.row
UNION ALL
SELECT s.finding, 'txn', s.txn FROM assigned s
UNION ALL
SELECT s.finding, 'item', i.id FROM assigned s, json_each(s.unit) e JOIN item i ON i.name = e.value;

-- The items that something published shows; what only originals hold is not among them.
CREATE VIEW published_item AS
SELECT
  c.item AS item                 -- the item
FROM contains c
JOIN txn x ON x.id = c.txn
JOIN dataset d ON d.id = x.dataset AND d.kind = 'published'
UNION SELECT m.item FROM member_of m WHERE EXISTS (SELECT 1 FROM published_as p WHERE p.generalised = m.generalised)
UNION SELECT item FROM shows;

-- The nodes of hierarchies that a release shows as labels; what else a hierarchy holds was not published.
CREATE VIEW published_concept AS
SELECT
  g.id AS generalised,           -- the generalised item of the release
  c.id AS concept                -- the node of its hierarchy
FROM generalised g
JOIN release r ON r.id = g.release
JOIN concept c ON c.hierarchy = r.hierarchy AND c.label = g.label
WHERE EXISTS (SELECT 1 FROM published_as p WHERE p.generalised = g.id);

-- Every node of the graph of what is published, and of what attacks made of it. No original is in it: see truth_node.
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
  WHERE EXISTS (SELECT 1 FROM published_as p WHERE p.generalised = g.id)
UNION ALL SELECT 'hierarchy', id, origin FROM hierarchy
UNION ALL SELECT 'concept', id, label FROM concept WHERE id IN (SELECT concept FROM published_concept)
UNION ALL SELECT 'cluster', id, 'cluster ' || number FROM cluster
UNION ALL SELECT 'joint', id, 'joint cluster ' || number FROM joint
UNION ALL SELECT 'chunk', id, kind || ' chunk ' || number FROM chunk
UNION ALL SELECT 'subrecord', id, 'sub-record ' || number FROM subrecord
UNION ALL SELECT 'attacker', id, model || ' attacker' FROM attacker
UNION ALL SELECT 'run', id, scenario || ': ' || variant FROM run
UNION ALL SELECT 'finding', id, 'round ' || round FROM finding;

-- Every edge of the graph of what is published, and of what attacks made of it; each joins two of its nodes.
CREATE VIEW edge AS
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
  WHERE EXISTS (SELECT 1 FROM published_as p WHERE p.generalised = m.generalised)
UNION ALL SELECT 'generalised', generalised, 'stands_for', 'concept', concept, NULL FROM published_concept
UNION ALL SELECT 'release', id, 'generalises_in', 'hierarchy', hierarchy, NULL FROM release WHERE hierarchy IS NOT NULL
UNION ALL SELECT 'concept', id, 'in_hierarchy', 'hierarchy', hierarchy, NULL FROM concept
  WHERE id IN (SELECT concept FROM published_concept)
UNION ALL SELECT 'txn', x.id, 'in_dataset', 'dataset', x.dataset, NULL FROM txn x
  JOIN dataset d ON d.id = x.dataset AND d.kind = 'published'
UNION ALL SELECT 'release', id, 'publishes', 'dataset', dataset, NULL FROM release
UNION ALL SELECT 'concept', child, 'is_a', 'concept', parent, NULL FROM is_a
  WHERE child IN (SELECT concept FROM published_concept) AND parent IN (SELECT concept FROM published_concept)
UNION ALL SELECT 'cluster', id, 'in_release', 'release', release, NULL FROM cluster
UNION ALL SELECT 'joint', joint, 'joins', 'cluster', cluster, NULL FROM joins
UNION ALL SELECT 'txn', txn, 'in_cluster', 'cluster', cluster, NULL FROM cluster_row
UNION ALL SELECT 'chunk', id, 'in_cluster', 'cluster', cluster, NULL FROM chunk WHERE cluster IS NOT NULL
UNION ALL SELECT 'chunk', id, 'in_joint', 'joint', joint, NULL FROM chunk WHERE joint IS NOT NULL
UNION ALL SELECT 'subrecord', id, 'in_chunk', 'chunk', chunk, NULL FROM subrecord
UNION ALL SELECT 'subrecord', subrecord, 'has_item', 'item', item, NULL FROM has_item
UNION ALL SELECT 'chunk', chunk, 'shows', 'item', item, NULL FROM shows
UNION ALL SELECT 'item', a, 'related', 'item', b, score FROM related
  WHERE a IN (SELECT item FROM published_item) AND b IN (SELECT item FROM published_item)
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
  WHERE NOT EXISTS (SELECT 1 FROM published_as p WHERE p.generalised = g.id)
UNION ALL SELECT 'concept', id, label FROM concept WHERE id NOT IN (SELECT concept FROM published_concept)
UNION ALL SELECT 'knowledge', id, 'itemset ' || id FROM knowledge;

-- Every edge of what is not published; each joins two nodes of truth_node or node. None says which transaction of a
-- release was made from which original.
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
  WHERE NOT EXISTS (SELECT 1 FROM published_as p WHERE p.generalised = m.generalised)
UNION ALL SELECT 'generalised', g.id, 'stands_for', 'concept', c.id, NULL FROM generalised g
  JOIN release r ON r.id = g.release JOIN concept c ON c.hierarchy = r.hierarchy AND c.label = g.label
  WHERE NOT EXISTS (SELECT 1 FROM published_as p WHERE p.generalised = g.id)
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
