package sqlite

import "github.com/refold-go/refold/store"

// schema has the migrations: element i leads from version i to version i+1. A
// released one never changes.
var schema = []string{schemaVersion1, schemaVersion2, schemaVersion3}

// schemaVersion1 is the first schema.
//
// Operations are clustered by document: replaying one is 8 times as fast as from
// a table in order of arrival once the table is large, inserting half as fast,
// and they are read far more often. Documents are interned to an integer, which
// makes that key a quarter shorter and twelve in a hundred faster.
//
// Dirty rows are found by an index on flags: the runnable ones in the order of
// what they lack, then the parked ones, and with not_before it can count those
// that wait. An index on a comparison of head and applied would be rewritten with
// each append.
//
// All times are in nanoseconds since 1970.
const schemaVersion1 = `
CREATE TABLE refold_meta (
	key   TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE refold_collections (
	id       INTEGER PRIMARY KEY,
	name     TEXT UNIQUE,      -- NULL if it is being dropped
	version  INTEGER NOT NULL, -- of the fold; 0 as long as it was only appended to
	serving  INTEGER NOT NULL, -- the generation that is read
	building INTEGER,          -- the generation that is being made, if any
	paused   INTEGER NOT NULL DEFAULT 0,
	epoch    INTEGER NOT NULL  -- of new documents; no two collections of one name have the same
) STRICT;

CREATE TABLE refold_documents (
	id         INTEGER PRIMARY KEY,
	collection INTEGER NOT NULL, -- 0 if it is being erased
	name       TEXT NOT NULL,    -- then it is in hexadecimal the hash in refold_forgotten
	head       INTEGER NOT NULL, -- seq of the last operation
	last       INTEGER NOT NULL, -- its position
	UNIQUE (collection, name)
) STRICT;

CREATE TABLE refold_operations (
	document INTEGER NOT NULL,
	seq      INTEGER NOT NULL,
	position INTEGER NOT NULL,
	id       TEXT,
	kind     TEXT NOT NULL,
	at       INTEGER NOT NULL, -- when it was appended, by the store's clock
	time     INTEGER,          -- the application's time; NULL means at
	meta     BLOB,
	body     BLOB NOT NULL,
	discarded INTEGER,         -- 1 if folds pass over it; last, so that NULL is a byte
	PRIMARY KEY (document, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX refold_operation_ids ON refold_operations (document, id) WHERE id IS NOT NULL;

CREATE TABLE refold_progress (
	generation     INTEGER NOT NULL,
	document       INTEGER NOT NULL,
	applied        INTEGER NOT NULL DEFAULT 0,
	dirty          INTEGER NOT NULL,           -- 1 if head > applied
	since_position INTEGER NOT NULL,           -- of operation applied + 1
	since_time     INTEGER NOT NULL,
	failed         INTEGER NOT NULL DEFAULT 0, -- 1 if there is a row in refold_failures
	attempts       INTEGER NOT NULL DEFAULT 0,
	not_before     INTEGER NOT NULL DEFAULT 0,
	parked         INTEGER NOT NULL DEFAULT 0,
	owner          TEXT,
	epoch          INTEGER NOT NULL,
	deleted        INTEGER NOT NULL DEFAULT 0, -- 1 if the fold said so, and there is no view
	PRIMARY KEY (generation, document)
) STRICT, WITHOUT ROWID;
CREATE INDEX refold_runnable ON refold_progress (generation, parked, since_position, not_before) WHERE dirty = 1;

CREATE TABLE refold_views (
	generation INTEGER NOT NULL,
	document   INTEGER NOT NULL,
	body       BLOB NOT NULL,
	PRIMARY KEY (generation, document)
) STRICT, WITHOUT ROWID;

CREATE TABLE refold_failures (
	generation INTEGER NOT NULL,
	document   INTEGER NOT NULL,
	name       TEXT NOT NULL, -- of the document, so that parked ones are read in its order
	parked     INTEGER NOT NULL,
	seq        INTEGER NOT NULL, -- of the operation that failed
	error      TEXT NOT NULL,
	stack      TEXT NOT NULL,
	first_at   INTEGER NOT NULL,
	last_at    INTEGER NOT NULL,
	PRIMARY KEY (generation, document)
) STRICT, WITHOUT ROWID;
CREATE INDEX refold_parked ON refold_failures (generation, name) WHERE parked = 1;

CREATE TABLE refold_discards (
	collection INTEGER NOT NULL,
	name       TEXT NOT NULL, -- of the document
	seq        INTEGER NOT NULL,
	who        TEXT NOT NULL,
	why        TEXT NOT NULL,
	at         INTEGER NOT NULL,
	PRIMARY KEY (collection, name, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE refold_forgotten (
	hash BLOB PRIMARY KEY -- of a salt, the collection and the id
) STRICT, WITHOUT ROWID;
`

// schemaVersion2 adds the log in order of position, and the feed of changes.
//
// The log has a row for each run of operations that one append adds to one
// document, whose positions follow each other: an append of ten costs one more row,
// at the end of the table. An index on the operations would cost ten.
//
// What is there already gets its numbers of changes in any order, as nobody has
// seen one yet.
//
// A process of version 1 that has the file open must not write any more, as it would
// extend no log and number no change. Its statements find a column gone, and the
// commits that it has in hand another epoch. From version 3 on a process looks by
// itself, see checkOurs.
const schemaVersion2 = `
CREATE TABLE refold_log (
	position INTEGER PRIMARY KEY, -- of the first operation
	document INTEGER NOT NULL,
	seq      INTEGER NOT NULL,    -- of the first operation
	count    INTEGER NOT NULL     -- of operations
) STRICT;
INSERT INTO refold_log (position, document, seq, count)
	SELECT position, document, seq, 1 FROM refold_operations ORDER BY position;

ALTER TABLE refold_operations RENAME COLUMN discarded TO marks; -- see markDiscarded
ALTER TABLE refold_documents RENAME COLUMN last TO last_position;
UPDATE refold_progress SET epoch = epoch + 1;

ALTER TABLE refold_progress ADD COLUMN changed INTEGER NOT NULL DEFAULT 0; -- number of the last change, of the view or by parking
ALTER TABLE refold_progress ADD COLUMN news    INTEGER NOT NULL DEFAULT 0; -- of the last one that was not history alone
UPDATE refold_progress AS p SET changed = n.number, news = n.number
	FROM (SELECT generation, document, row_number() OVER (ORDER BY generation, document) AS number
		FROM refold_progress WHERE applied > 0 OR parked) AS n
	WHERE p.generation = n.generation AND p.document = n.document;
CREATE INDEX refold_changes ON refold_progress (generation, changed) WHERE changed > 0;

INSERT INTO refold_meta (key, value) VALUES ('change', 0), ('ceiling', 0);
UPDATE refold_meta SET value = (SELECT coalesce(max(changed), 0) FROM refold_progress)
	WHERE key IN ('change', 'ceiling');
INSERT INTO refold_meta (key, value) SELECT 'salt', value FROM refold_meta WHERE key = 'incarnation';
`

// schemaVersion3 adds what leases, generations and derived collections are made of.
//
// A generation has a row of its own beside its collection, which goes with the
// collection's. Documents may share a since from here on, because those of a derived
// collection take over that of a source; so the index of the runnable ones has the
// document behind it. Epochs are numbers of changes from here on, and all earlier
// ones are below.
const schemaVersion3 = `
ALTER TABLE refold_progress ADD COLUMN leased_at    INTEGER NOT NULL DEFAULT 0; -- when owner took it
ALTER TABLE refold_progress ADD COLUMN leased_until INTEGER NOT NULL DEFAULT 0; -- owner is NULL if nobody has it
DROP INDEX refold_runnable;
CREATE INDEX refold_runnable ON refold_progress (generation, parked, since_position, document, not_before) WHERE dirty = 1;

ALTER TABLE refold_collections ADD COLUMN kept       INTEGER;                    -- the generation served before, if it lives
ALTER TABLE refold_collections ADD COLUMN derived    INTEGER NOT NULL DEFAULT 0; -- 1 if it is made from others
ALTER TABLE refold_collections ADD COLUMN dependents INTEGER NOT NULL DEFAULT 0; -- how many living mappings read it
ALTER TABLE refold_collections ADD COLUMN switched   INTEGER NOT NULL DEFAULT 0; -- number of the change at which serving began
ALTER TABLE refold_collections ADD COLUMN closing    INTEGER NOT NULL DEFAULT 0; -- until when what is served is not run

CREATE TABLE refold_generations (
	id         INTEGER PRIMARY KEY, -- as in refold_progress
	collection INTEGER NOT NULL,
	version    INTEGER NOT NULL,
	source     INTEGER NOT NULL DEFAULT 0, -- of a mapping: the collection that it reads
	feeds      INTEGER NOT NULL DEFAULT 0, -- of a mapping: the generation that it feeds
	input      INTEGER NOT NULL DEFAULT 0, -- of a mapping: its number among the sources
	deltas     INTEGER NOT NULL DEFAULT 0, -- of a derived one: 1 if its deltas have contributions
	space      INTEGER NOT NULL,           -- refold_documents.collection of its documents: collection, or -id if derived or a mapping
	state      INTEGER NOT NULL,           -- see stateServing
	epoch      INTEGER NOT NULL,           -- of new rows
	scanned    INTEGER NOT NULL DEFAULT 0, -- the scan has made rows for the documents up to this one
	until      INTEGER NOT NULL DEFAULT 0, -- and ends here
	mark       INTEGER NOT NULL DEFAULT 0, -- end of the log when the scan began; of a derived one: nothing that was served goes beyond it
	made       INTEGER NOT NULL DEFAULT 0, -- rows made by the scan
	started    INTEGER NOT NULL DEFAULT 0, -- when the scan began
	retire     INTEGER NOT NULL DEFAULT 0  -- of a kept one: not before
) STRICT;
CREATE UNIQUE INDEX refold_generation_names ON refold_generations (collection, version, source) WHERE state < 5;
CREATE INDEX refold_dropping   ON refold_generations (id) WHERE state = 5;
CREATE INDEX refold_dependents ON refold_generations (source) WHERE source > 0 AND state < 5;
CREATE UNIQUE INDEX refold_mappings ON refold_generations (feeds, input) WHERE feeds > 0;
INSERT INTO refold_generations (id, collection, version, space, state, epoch)
	SELECT serving, id, version, id, 2, epoch FROM refold_collections;

ALTER TABLE refold_documents ADD COLUMN contributions INTEGER NOT NULL DEFAULT 0; -- how many a derived document has
CREATE TABLE refold_deltas ( -- the operations of derived documents and mappings; gone when they are applied
	document INTEGER NOT NULL,
	seq      INTEGER NOT NULL,
	position INTEGER NOT NULL, -- of the since that it hands down
	at       INTEGER NOT NULL,
	body     BLOB NOT NULL,
	marks    INTEGER,          -- markHistory, of the source too
	mapping  INTEGER,          -- document of the mapping whose contribution the body has
	PRIMARY KEY (document, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX refold_senders ON refold_deltas (mapping) WHERE mapping > 0;
CREATE TABLE refold_contributions (
	document INTEGER NOT NULL, -- the derived one
	input    INTEGER NOT NULL,
	source   TEXT NOT NULL,    -- id of the source document: the order of the reduce
	mapping  INTEGER NOT NULL, -- document of the mapping
	key      TEXT NOT NULL,    -- id of the derived document
	body     BLOB NOT NULL,
	PRIMARY KEY (document, input, source)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX refold_contributors ON refold_contributions (mapping, key);
CREATE TABLE refold_edges ( -- what a derived document read when its view was made
	document   INTEGER NOT NULL,
	collection INTEGER NOT NULL, -- of the source, which need not exist
	name       TEXT NOT NULL,
	version    INTEGER NOT NULL, -- refold_progress.changed of the source then, 0 if it had no view
	generation INTEGER NOT NULL, -- of document
	PRIMARY KEY (document, collection, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX refold_readers ON refold_edges (collection, name, generation, document);
CREATE TABLE refold_fanouts ( -- of a mapping whose effects take more than one transaction
	document INTEGER PRIMARY KEY,
	round    INTEGER NOT NULL, -- the head with which it began
	readers  INTEGER NOT NULL, -- 1 if all keys are done
	after    TEXT NOT NULL     -- the last key that is done, or the last document of the readers
) STRICT;

UPDATE refold_meta SET value = max(value, ((SELECT value FROM refold_meta WHERE key = 'dropped') + 1) << 32)
	WHERE key IN ('change', 'ceiling') -- not in a new file
	AND (EXISTS (SELECT 1 FROM refold_collections) OR (SELECT value FROM refold_meta WHERE key = 'dropped') > 0);
UPDATE refold_meta SET value = value << 32 WHERE key = 'dropped';
`

// The states of a generation. A state of 5 takes its name away.
const (
	stateBuilding = int64(store.Building)
	stateServing  = int64(store.Serving)
	stateKept     = int64(store.Kept)
	stateAside    = int64(store.SetAside)
	stateDropping = int64(store.Dropping)
)

// The marks of an operation. NULL is none.
const (
	markDiscarded = 1 // folds pass over it
	markHistory   = 2 // it was appended as history
)

// The keys of refold_meta.
const (
	metaSchema      = "schema"      // the version of the schema
	metaIncarnation = "incarnation" // tells this store from others
	metaPosition    = "position"    // the last one given
	metaGeneration  = "generation"  // the last one given
	metaOpened      = "opened"      // how often the store was opened
	metaSynced      = "synced"      // bumped to have something to sync, see group
	metaClaimed     = "claimed"     // 1 from a claim until its release
	metaDropped     = "dropped"     // the number of the change at which a collection was last dropped
	metaChange      = "change"      // the number of the last change: of a view, or of an epoch
	metaCeiling     = "ceiling"     // up to which numbers of changes may have been seen; never moved without a sync
	metaSalt        = "salt"        // of the hashes of what was forgotten
)
