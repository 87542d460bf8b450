PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE refold_meta (
	key   TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO refold_meta VALUES('ceiling',65536);
INSERT INTO refold_meta VALUES('change',4);
INSERT INTO refold_meta VALUES('claimed',1);
INSERT INTO refold_meta VALUES('dropped',1);
INSERT INTO refold_meta VALUES('generation',5);
INSERT INTO refold_meta VALUES('incarnation',497264293435566229);
INSERT INTO refold_meta VALUES('opened',1);
INSERT INTO refold_meta VALUES('position',19);
INSERT INTO refold_meta VALUES('salt',497264293435566229);
INSERT INTO refold_meta VALUES('schema',2);
INSERT INTO refold_meta VALUES('synced',2);
CREATE TABLE refold_collections (
	id       INTEGER PRIMARY KEY,
	name     TEXT UNIQUE,      -- NULL if it is being dropped
	version  INTEGER NOT NULL, -- of the fold; 0 as long as it was only appended to
	serving  INTEGER NOT NULL, -- the generation that is read
	building INTEGER,          -- the generation that is being made, if any
	paused   INTEGER NOT NULL DEFAULT 0,
	epoch    INTEGER NOT NULL  -- of new documents; no two collections of one name have the same
) STRICT;
INSERT INTO refold_collections VALUES(1,'notes',3,1,NULL,0,0);
INSERT INTO refold_collections VALUES(2,'old',0,3,NULL,0,4294967296);
INSERT INTO refold_collections VALUES(3,'tasks',0,4,NULL,1,4294967296);
INSERT INTO refold_collections VALUES(4,NULL,0,5,NULL,0,4294967296);
CREATE TABLE refold_documents (
	id         INTEGER PRIMARY KEY,
	collection INTEGER NOT NULL, -- 0 if it is being erased
	name       TEXT NOT NULL,    -- then it is in hexadecimal the hash in refold_forgotten
	head       INTEGER NOT NULL, -- seq of the last operation
	last_position INTEGER NOT NULL, -- its position
	UNIQUE (collection, name)
) STRICT;
INSERT INTO refold_documents VALUES(1,1,'half',3,4);
INSERT INTO refold_documents VALUES(2,1,'clean',1,5);
INSERT INTO refold_documents VALUES(3,1,'deleted',1,6);
INSERT INTO refold_documents VALUES(4,1,'parked',2,8);
INSERT INTO refold_documents VALUES(5,1,'waiting',1,9);
INSERT INTO refold_documents VALUES(6,1,'discarded',2,11);
INSERT INTO refold_documents VALUES(7,2,'y',2,14);
INSERT INTO refold_documents VALUES(8,3,'t',1,15);
INSERT INTO refold_documents VALUES(9,4,'g',2,17);
INSERT INTO refold_documents VALUES(10,0,'9851bfd0d02620f27d902c611d6c747cbee58561b7f23c715e4ed5019605a5a8',0,0);
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
	marks INTEGER,         -- 1 if folds pass over it; last, so that NULL is a byte
	PRIMARY KEY (document, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO refold_operations VALUES(1,1,2,'id-1','made',1796036300817613366,1767323045000000006,X'6d657461',X'31',2);
INSERT INTO refold_operations VALUES(1,2,3,'id-2','k',1796036300817613366,NULL,NULL,X'32',2);
INSERT INTO refold_operations VALUES(1,3,4,NULL,'k',1796036300818054822,NULL,NULL,X'33',NULL);
INSERT INTO refold_operations VALUES(2,1,5,NULL,'k',1796036300819696226,NULL,NULL,X'31',NULL);
INSERT INTO refold_operations VALUES(3,1,6,NULL,'k',1796036300820404171,NULL,NULL,X'31',NULL);
INSERT INTO refold_operations VALUES(4,1,7,NULL,'k',1796036300820889619,NULL,NULL,X'31',NULL);
INSERT INTO refold_operations VALUES(4,2,8,NULL,'k',1796036300820889619,NULL,NULL,X'32',NULL);
INSERT INTO refold_operations VALUES(5,1,9,NULL,'k',1796036300822051108,NULL,NULL,X'31',NULL);
INSERT INTO refold_operations VALUES(6,1,10,NULL,'k',1796036300822430393,NULL,NULL,X'31',1);
INSERT INTO refold_operations VALUES(6,2,11,NULL,'k',1796036300822430393,NULL,NULL,X'32',NULL);
INSERT INTO refold_operations VALUES(7,1,13,NULL,'k',1796036300835427399,NULL,NULL,X'31',NULL);
INSERT INTO refold_operations VALUES(7,2,14,NULL,'k',1796036300835427399,NULL,NULL,X'32',1);
INSERT INTO refold_operations VALUES(8,1,15,NULL,'k',1796036300838416018,NULL,NULL,X'31',NULL);
INSERT INTO refold_operations VALUES(9,1,16,NULL,'k',1796036300840814402,NULL,NULL,X'31',NULL);
INSERT INTO refold_operations VALUES(9,2,17,NULL,'k',1796036300840814402,NULL,NULL,X'32',NULL);
INSERT INTO refold_operations VALUES(10,1,18,NULL,'k',1796036300841139846,NULL,NULL,X'31',NULL);
INSERT INTO refold_operations VALUES(10,2,19,NULL,'k',1796036300841139846,NULL,NULL,X'32',NULL);
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
	deleted        INTEGER NOT NULL DEFAULT 0, changed INTEGER NOT NULL DEFAULT 0, news    INTEGER NOT NULL DEFAULT 0, -- 1 if the fold said so, and there is no view
	PRIMARY KEY (generation, document)
) STRICT, WITHOUT ROWID;
INSERT INTO refold_progress VALUES(1,1,2,1,4,1796036300818054822,0,0,0,0,NULL,0,0,1,0);
INSERT INTO refold_progress VALUES(1,2,1,0,0,0,0,0,0,0,NULL,0,0,2,2);
INSERT INTO refold_progress VALUES(1,3,1,0,0,0,0,0,0,0,NULL,0,1,3,3);
INSERT INTO refold_progress VALUES(1,4,1,1,8,1796036300820889619,1,7,0,1,NULL,0,0,4,4);
INSERT INTO refold_progress VALUES(1,5,0,1,9,1796036300822051108,1,2,1796039900822368196,0,NULL,0,0,0,0);
INSERT INTO refold_progress VALUES(1,6,0,1,10,1796036300822430393,0,0,0,0,NULL,1,0,0,0);
INSERT INTO refold_progress VALUES(3,7,0,1,13,1796036300835427399,0,0,0,0,NULL,4294967297,0,0,0);
INSERT INTO refold_progress VALUES(4,8,0,1,15,1796036300838416018,0,0,0,0,NULL,4294967296,0,0,0);
INSERT INTO refold_progress VALUES(5,9,0,1,16,1796036300840814402,0,0,0,0,NULL,4294967296,0,0,0);
CREATE TABLE refold_views (
	generation INTEGER NOT NULL,
	document   INTEGER NOT NULL,
	body       BLOB NOT NULL,
	PRIMARY KEY (generation, document)
) STRICT, WITHOUT ROWID;
INSERT INTO refold_views VALUES(1,1,X'76696577206f662032');
INSERT INTO refold_views VALUES(1,2,X'76696577206f662031');
INSERT INTO refold_views VALUES(1,4,X'676f6f64');
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
INSERT INTO refold_failures VALUES(1,4,'parked',1,2,'broken','main.fold',1796036300821532823,1796036300821532823);
INSERT INTO refold_failures VALUES(1,5,'waiting',0,1,'later','',1796036300822368196,1796036300822368196);
CREATE TABLE refold_discards (
	collection INTEGER NOT NULL,
	name       TEXT NOT NULL, -- of the document
	seq        INTEGER NOT NULL,
	who        TEXT NOT NULL,
	why        TEXT NOT NULL,
	at         INTEGER NOT NULL,
	PRIMARY KEY (collection, name, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO refold_discards VALUES(1,'discarded',1,'ann','wrong',1796036300822704013);
INSERT INTO refold_discards VALUES(2,'y',2,'ann','wrong',1796036300837585780);
CREATE TABLE refold_forgotten (
	hash BLOB PRIMARY KEY -- of a salt, the collection and the id
) STRICT, WITHOUT ROWID;
INSERT INTO refold_forgotten VALUES(X'9851bfd0d02620f27d902c611d6c747cbee58561b7f23c715e4ed5019605a5a8');
INSERT INTO refold_forgotten VALUES(X'e9dad0ebaa168377fc580dd36e1bf755fdf6258cfbfb5f477a561b46bd116244');
CREATE TABLE refold_log (
	position INTEGER PRIMARY KEY, -- of the first operation
	document INTEGER NOT NULL,
	seq      INTEGER NOT NULL,    -- of the first operation
	count    INTEGER NOT NULL     -- of operations
) STRICT;
INSERT INTO refold_log VALUES(2,1,1,2);
INSERT INTO refold_log VALUES(4,1,3,1);
INSERT INTO refold_log VALUES(5,2,1,1);
INSERT INTO refold_log VALUES(6,3,1,1);
INSERT INTO refold_log VALUES(7,4,1,2);
INSERT INTO refold_log VALUES(9,5,1,1);
INSERT INTO refold_log VALUES(10,6,1,2);
INSERT INTO refold_log VALUES(13,7,1,2);
INSERT INTO refold_log VALUES(15,8,1,1);
INSERT INTO refold_log VALUES(16,9,1,2);
INSERT INTO refold_log VALUES(18,10,1,2);
CREATE UNIQUE INDEX refold_operation_ids ON refold_operations (document, id) WHERE id IS NOT NULL;
CREATE INDEX refold_runnable ON refold_progress (generation, parked, since_position, not_before) WHERE dirty = 1;
CREATE INDEX refold_parked ON refold_failures (generation, name) WHERE parked = 1;
CREATE INDEX refold_changes ON refold_progress (generation, changed) WHERE changed > 0;
COMMIT;
