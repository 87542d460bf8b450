package sqlite

// plainStatements are those that concern all collections.
var plainStatements = map[statement]statementText{
	beginImmediate: {"starting a transaction", `BEGIN IMMEDIATE`},
	commitAll:      {"committing", `COMMIT`},

	getVersion: {"looking whether others have written", `PRAGMA data_version`},

	getOurs:  {"looking whose file it is", `SELECT (SELECT value FROM refold_meta WHERE key = '` + metaSchema + `'), (SELECT value FROM refold_meta WHERE key = '` + metaIncarnation + `')`},
	getMeta:  {"reading a counter", `SELECT value FROM refold_meta WHERE key = ?1`},
	setMeta:  {"writing a counter", `UPDATE refold_meta SET value = ?2 WHERE key = ?1`},
	bumpMeta: {"counting", `UPDATE refold_meta SET value = value + 1 WHERE key = ?1 RETURNING value`},

	getCollection: {"reading a collection", `
		SELECT id, version, serving, epoch, paused, (` + selectForgotten + `), building, kept, closing, derived, dependents
		FROM refold_collections WHERE name = ?1`},
	newCollection:        {"making a collection", `INSERT INTO refold_collections (name, version, serving, epoch) VALUES (?1, ?2, ?3, ?4) RETURNING id`},
	setVersion:           {"registering a collection", `UPDATE refold_collections SET version = ?2 WHERE id = ?1`},
	setGenerationVersion: {"registering a collection", `UPDATE refold_generations SET version = ?2 WHERE id = ?1`},
	newGeneration: {"making a collection", `
		INSERT INTO refold_generations (id, collection, version, space, state, epoch) VALUES (?1, ?2, ?3, ?2, ?4, ?5)`},
	getGeneration: {"reading a generation", `
		SELECT g.id, g.space, g.version, c.serving IN (g.id, g.feeds), c.paused, c.switched, c.closing, g.epoch, g.source, g.feeds, g.input` + fromCollection + ` WHERE c.name = +?1`},
	allCollections: {"reading the collections", `
		SELECT c.name, c.version, c.paused, c.derived, c.closing, m.input, s.name
		FROM refold_collections c LEFT JOIN refold_generations m INDEXED BY refold_mappings ON m.feeds > 0 AND m.feeds = c.serving
			LEFT JOIN refold_collections s ON s.id = m.source
		WHERE c.name IS NOT NULL ORDER BY c.name COLLATE BINARY`},
	pause: {"pausing a collection", `UPDATE refold_collections SET paused = ?2 WHERE id = ?1`},

	getDocument: {"reading a document", `
		SELECT d.id, d.head, p.dirty, p.parked, p.failed, p.applied, p.epoch
		FROM refold_documents d JOIN refold_progress p ON p.generation = +?1 AND p.document = d.id
		WHERE d.collection = +?2 AND d.name = +?3`},
	newDocument: {"making a document", `INSERT INTO refold_documents (collection, name, head, last_position) VALUES (?1, ?2, ?3, ?4)`},
	newProgress: {"making a document", `
		INSERT INTO refold_progress (generation, document, dirty, since_position, since_time, epoch) VALUES (?1, ?2, 1, ?3, ?4, ?5)`},
	lastRow: {"making a document", `SELECT last_insert_rowid()`},
	changes: {"counting changes", `SELECT changes()`},
	// It fails if the head is not ?4.
	moveHead: {"moving a head", `
		UPDATE refold_documents SET last_position = ?3, head = iif(head = ?4, head + ?2, NULL) WHERE id = ?1`},
	findID:     {"looking up an operation id", `SELECT seq, position, kind, body FROM refold_operations WHERE document = ?1 AND id = ?2`},
	insertOne:  {"inserting an operation", insertInto + `(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`},
	insertMany: {"inserting operations", insertRows},
	insertLog:  {"extending the log", `INSERT INTO refold_log (position, document, seq, count) VALUES (?1, ?2, ?3, ?4)`},

	markDirty: {"marking a document dirty", `
		UPDATE refold_progress SET dirty = 1, since_position = ?3, since_time = ?4
		WHERE generation = ?1 AND document = ?2 AND NOT dirty`},

	newProgressBeside: {"making a document", `
		INSERT INTO refold_progress (generation, document, dirty, since_position, since_time, epoch)
		SELECT id, ?2, 1, ?3, ?4, epoch FROM refold_generations WHERE id = +?1`},

	moveApplied: {"moving applied", `
		UPDATE refold_progress SET applied = ?5, dirty = ?6, since_position = ?7, since_time = ?8,
			failed = ?9, attempts = ?10, not_before = ?11, parked = ?12, deleted = iif(?5 = ?3, deleted, ?13),
			changed = coalesce(?14, changed), news = coalesce(?15, news),
			owner = iif(?16 > 0, owner, NULL), leased_at = iif(?16 > 0, leased_at, 0),
			leased_until = iif(?16 > 0 AND owner IS NOT NULL, min(?16, leased_at + ?17), 0)
		WHERE generation = ?1 AND document = ?2 AND applied = ?3 AND epoch = ?4 AND NOT parked
			AND (?6 = 1 OR ?5 = (SELECT head FROM refold_documents WHERE id = +?2))`},
	getLease: {"reading a lease", `
		SELECT d.id, p.dirty, p.parked, p.not_before, p.epoch, p.owner, p.leased_at, p.leased_until
		FROM refold_documents d JOIN refold_progress p ON p.generation = +?1 AND p.document = d.id
		WHERE d.collection = +?2 AND d.name = +?3`},
	takeLease: {"taking a lease", `
		UPDATE refold_progress SET owner = ?3, epoch = ?4, leased_at = ?5, leased_until = ?6
		WHERE generation = ?1 AND document = ?2 AND dirty AND NOT parked AND epoch = ?7 AND owner IS ?8`},
	lengthenLease: {"lengthening a lease", `
		UPDATE refold_progress SET leased_until = min(?5, leased_at + ?6)
		WHERE generation = ?1 AND document = ?2 AND owner = ?3 AND epoch = ?4`},
	releaseLease: {"giving a lease back", `
		UPDATE refold_progress SET owner = NULL, leased_at = 0, leased_until = 0
		WHERE generation = ?1 AND document = ?2 AND owner = ?3 AND epoch = ?4`},
	putView: {"writing a view", `
		INSERT INTO refold_views (generation, document, body) VALUES (?1, ?2, ?3)
		ON CONFLICT (generation, document) DO UPDATE SET body = excluded.body`},
	dropView: {"deleting a view", `DELETE FROM refold_views WHERE generation = ?1 AND document = ?2`},
	nextPlace: {"reading the place of an operation", `
		SELECT position, at FROM refold_operations WHERE document = +?1 AND seq >= +?2 ORDER BY seq LIMIT 1`},
	lastPlace: {"reading the place of an operation", `SELECT last_position FROM refold_documents WHERE id = ?1`},
	getPlace:  {"reading the place of an operation", `SELECT position, at, marks FROM refold_operations WHERE document = ?1 AND seq = ?2`},
	putFailure: {"recording a failure", `
		INSERT INTO refold_failures (generation, document, name, parked, seq, error, stack, first_at, last_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
		ON CONFLICT (generation, document) DO UPDATE SET parked = excluded.parked,
			first_at = iif(seq = excluded.seq AND ?9 > 1, first_at, excluded.first_at),
			seq = excluded.seq, error = excluded.error, stack = excluded.stack, last_at = excluded.last_at`},
	dropFailure:   {"forgetting a failure", `DELETE FROM refold_failures WHERE generation = ?1 AND document = ?2`},
	unparkFailure: {"resuming a document", `UPDATE refold_failures SET parked = 0 WHERE generation = ?1 AND document = ?2`},
	getFailure:    {"reading a failure", `SELECT seq FROM refold_failures WHERE generation = ?1 AND document = ?2`},
	resume: {"resuming a document", `
		UPDATE refold_progress SET parked = 0, attempts = 0, not_before = 0
		WHERE generation = ?1 AND document = ?2 AND parked
		RETURNING 1`},

	loadServedPlain: {"loading a document", selectDocument + `c.version, NULL` + fromServed + whereServed},
	loadServedViews: {"loading a document", selectDocument + `c.version, v.body` + fromServed + joinViews + whereServed},
	loadPlain:       {"loading a document", selectDocument + `g.version, NULL` + selectRound + fromDocument + joinRound + whereName},
	loadViews:       {"loading a document", selectDocument + `g.version, v.body` + selectRound + fromDocument + joinViews + joinRound + whereName},
	scanPlain:       {"scanning documents", selectDocument + `g.version, NULL` + selectRound + fromDocument + joinRound + whereAfter},
	scanViews:       {"scanning documents", selectDocument + `g.version, v.body` + selectRound + fromDocument + joinViews + joinRound + whereAfter},

	readOperations: {"reading operations", `
		SELECT seq, position, id, kind, coalesce(time, at), meta, body, marks FROM refold_operations
		WHERE document = (SELECT d.id FROM refold_collections c JOIN refold_documents d ON d.collection = c.id
			WHERE c.name = +?1 AND d.name = +?2)
		AND seq >= +?3 AND seq <= +?4 ORDER BY seq LIMIT +?5`},
	runnablePage: {"reading runnable documents", `
		SELECT d.name, p.since_position, p.since_time, p.not_before, p.document, p.owner, p.leased_at, p.leased_until
		FROM refold_progress p JOIN refold_documents d ON d.id = p.document
		WHERE p.generation = +?1 AND p.parked = +?4 AND (p.since_position, p.document) > (+?2, +?5) AND p.dirty = 1
		ORDER BY p.since_position, p.document LIMIT +?3`},
	logStart: {"reading the log", `SELECT coalesce(max(position), 0) FROM refold_log WHERE position <= +?1`},
	logPage: {"reading the log", `
		SELECT o.seq, o.position, o.id, o.kind, coalesce(o.time, o.at), o.meta, o.body, o.marks, c.name, d.name, l.position + o.seq - l.seq
		FROM refold_log l
		CROSS JOIN refold_documents d ON d.id = l.document
		CROSS JOIN refold_collections c ON c.id = d.collection AND c.name IS NOT NULL
		CROSS JOIN refold_operations o ON o.document = l.document
			AND o.seq >= l.seq + max(0, +?2 + 1 - l.position) AND o.seq < l.seq + min(l.count, +?3 + 1 - l.position)
		WHERE l.position >= +?1 AND l.position <= +?3
		ORDER BY l.position, o.seq LIMIT +?4`},
	changesPlain: {"reading changes", selectDocument + `g.version, NULL` + selectRound + fromChanges + joinRound + whereChanged},
	changesViews: {"reading changes", selectDocument + `g.version, v.body` + selectRound + fromChanges + joinViews + joinRound + whereChanged},
	countDirty: {"counting dirty documents", `
		SELECT count(*), coalesce(sum(not_before > ?2 AND not_before <= ?3), 0) FROM refold_progress INDEXED BY refold_runnable
		WHERE generation = +?1 AND parked = 0 AND dirty = 1`},
	countParked: {"counting parked documents", `SELECT count(*) FROM refold_failures INDEXED BY refold_parked WHERE generation = +?1 AND parked = 1`},
	parkedPage: {"reading parked documents", `
		SELECT d.name, d.head, d.last_position, p.applied, p.epoch, p.dirty, p.since_position, p.since_time, p.parked, p.attempts, p.failed,
			f.seq, f.error, f.stack, p.not_before, f.first_at, f.last_at, p.deleted, p.changed, p.news,
			p.owner, p.leased_at, p.leased_until, d.contributions, g.version, NULL` + selectRound + `
		FROM refold_generations g
		CROSS JOIN refold_failures f ON f.generation = g.id
		JOIN refold_progress p ON p.generation = f.generation AND p.document = f.document
		JOIN refold_documents d ON d.id = f.document` + joinRound + `
		WHERE g.id = +?1 AND f.parked = 1 AND f.name > +?2
		ORDER BY f.name LIMIT +?3`},
	discard:    {"discarding an operation", `UPDATE refold_operations SET marks = coalesce(marks, 0) | 1 WHERE document = ?1 AND seq = ?2`},
	putDiscard: {"recording a discard", `INSERT INTO refold_discards (collection, name, seq, who, why, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`},
	setEpoch: {"discarding an operation", `
		UPDATE refold_progress SET epoch = ?3, owner = NULL, leased_at = 0, leased_until = 0 WHERE generation = ?1 AND document = ?2`},
	setBack: {"discarding an operation", `
		UPDATE refold_progress SET applied = 0, dirty = 1, since_position = ?4, since_time = ?5, failed = 0, attempts = 0, not_before = 0,
			parked = 0, deleted = 0, changed = 0, news = 0, epoch = ?3, owner = NULL, leased_at = 0, leased_until = 0
		WHERE generation = ?1 AND document = ?2`},
	discardsPage: {"reading discards", `
		SELECT x.name, x.seq, x.who, x.why, x.at FROM refold_collections c JOIN refold_discards x ON x.collection = c.id
		WHERE c.name = +?1 AND (x.name, x.seq) > (+?2, +?3) ORDER BY x.name, x.seq LIMIT +?4`},
	resolveDocument: {"resolving a token", `
		SELECT d.id, d.head, d.last_position, c.derived
		FROM refold_collections c LEFT JOIN refold_documents d ON d.collection = c.id AND d.name = +?2 WHERE c.name = +?1`},

	anyForgotten: {"looking for what was forgotten", selectForgotten},
	getForgotten: {"looking for what was forgotten", `SELECT 1 FROM refold_forgotten WHERE hash = ?1`},
	putForgotten: {"forgetting a document", `INSERT INTO refold_forgotten (hash) VALUES (?1) ON CONFLICT DO NOTHING`},
	startErasing: {"forgetting a document", `UPDATE refold_documents SET collection = 0, name = ?2, last_position = ?3, head = ?4 WHERE id = ?1`},
	getErasing:   {"erasing a document", `SELECT id, name, last_position, head FROM refold_documents WHERE collection = 0 AND name >= +?1 ORDER BY name LIMIT 1`},
	nextOperation: {"erasing a document", `
		SELECT seq, length(body) + coalesce(length(meta), 0) FROM refold_operations WHERE document = +?1 AND seq > +?2 ORDER BY seq LIMIT 1`},
	dropLog: {"erasing a document", `
		DELETE FROM refold_log WHERE position IN (SELECT position FROM refold_operations WHERE document = ?1 AND seq <= +?2)`},
	dropOperations:  {"erasing a document", `DELETE FROM refold_operations WHERE document = ?1 AND seq <= +?2`},
	dropFailures:    {"erasing a document", `DELETE FROM refold_failures WHERE document = ?1` + inGenerations},
	dropViews:       {"erasing a document", `DELETE FROM refold_views WHERE document = ?1` + inGenerations},
	dropProgress:    {"erasing a document", `DELETE FROM refold_progress WHERE document = ?1` + inGenerations},
	dropDiscards:    {"erasing a document", `DELETE FROM refold_discards WHERE collection = ?1 AND name = ?2`},
	dropDocument:    {"erasing a document", `DELETE FROM refold_documents WHERE id = ?1`},
	nextDocument:    {"dropping a collection", `SELECT id, name FROM refold_documents WHERE collection = +?1 ORDER BY name LIMIT 1`},
	startDropping:   {"dropping a collection", `UPDATE refold_collections SET name = NULL WHERE id = ?1`},
	getDropping:     {"dropping a collection", `SELECT id FROM refold_collections WHERE name IS NULL LIMIT 1`},
	dropGenerations: {"dropping a collection", `DELETE FROM refold_generations WHERE collection = ?1 AND state < 5`},
	dropDropping: {"dropping a collection", `
		DELETE FROM refold_generations INDEXED BY refold_dropping WHERE id > 0 AND state = 5 AND collection = ?1`},
	dropCollection: {"dropping a collection", `DELETE FROM refold_collections WHERE id = ?1`},

	getState: {"reading a generation", `
		SELECT g.id, g.version, g.space, g.state, g.epoch, g.scanned, g.until, c.id, g.deltas` + fromCollection + ` WHERE c.name = +?1`},
	getKept:      {"reading a generation", `SELECT id, version, space, state, epoch, deltas FROM refold_generations WHERE id = ?1`},
	lastDocument: {"starting a generation", `SELECT coalesce(max(id), 0) FROM refold_documents`},
	startGeneration: {"starting a generation", `
		INSERT INTO refold_generations (id, collection, version, space, state, epoch, until, mark, started)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`},
	setBuilding: {"starting a generation", `UPDATE refold_collections SET building = ?2 WHERE id = ?1`},
	fillRows: {"making rows of a generation", `
		INSERT INTO refold_progress (generation, document, dirty, since_position, since_time, epoch)
		SELECT ?1, d.id, 1, coalesce(o.position, d.last_position), coalesce(o.at, ?6), ?5
		FROM refold_documents d NOT INDEXED LEFT JOIN refold_operations o ON o.document = d.id AND o.seq = 1
		WHERE d.id > +?2 AND d.id <= +?3 AND d.collection = +?4
		ON CONFLICT DO NOTHING`},
	moveScan: {"making rows of a generation", `UPDATE refold_generations SET scanned = ?2, made = made + ?3 WHERE id = ?1`},
	manyDirty: {"counting dirty documents", `
		SELECT 1 FROM refold_progress INDEXED BY refold_runnable
		WHERE generation = +?1 AND parked = 0 AND dirty = 1 LIMIT 1 OFFSET +?2`},
	firstBehind: {"comparing generations", `
		SELECT d.name FROM refold_progress n INDEXED BY refold_runnable
		JOIN refold_progress o ON o.generation = +?2 AND o.document = n.document
		JOIN refold_documents d ON d.id = n.document
		WHERE n.generation = +?1 AND n.parked = +?3 AND n.dirty = 1 AND n.applied < o.applied LIMIT 1`},
	setServing: {"switching generations", `
		UPDATE refold_collections SET serving = ?2, version = ?3, epoch = ?4, switched = ?5, closing = 0 WHERE id = ?1`},
	setState:   {"switching generations", `UPDATE refold_generations SET state = ?2, retire = ?3 WHERE id = ?1`},
	setSlots:   {"switching generations", `UPDATE refold_collections SET building = ?2, kept = ?3 WHERE id = ?1`},
	setClosing: {"holding a collection", `UPDATE refold_collections SET closing = ?2 WHERE id = ?1`},
	listGenerations: {"reading the generations", `
		SELECT g.version, g.state, g.scanned, g.until, g.made, g.started, g.retire, g.id, g.space
		FROM refold_collections c CROSS JOIN refold_generations g INDEXED BY refold_generation_names
			ON g.collection = c.id AND g.state < 5 AND g.source = 0 WHERE c.name = +?1
		UNION ALL
		SELECT g.version, g.state, g.scanned, g.until, g.made, g.started, g.retire, g.id, g.space
		FROM refold_collections c CROSS JOIN refold_generations g INDEXED BY refold_dropping
			ON g.id > 0 AND g.state = 5 AND g.collection = c.id AND g.source = 0 WHERE c.name = +?1`},
	nextDropping: {"dropping a generation", `
		SELECT id, space FROM refold_generations INDEXED BY refold_dropping WHERE id > 0 AND state = 5 ORDER BY id LIMIT 1`},
	sliceEnd: {"dropping a generation", `
		SELECT document FROM refold_progress WHERE generation = +?1 ORDER BY document LIMIT 1 OFFSET +?2`},
	sweepViews:     {"dropping a generation", `DELETE FROM refold_views WHERE generation = ?1 AND document <= +?2`},
	sweepFailures:  {"dropping a generation", `DELETE FROM refold_failures WHERE generation = ?1 AND document <= +?2`},
	sweepProgress:  {"dropping a generation", `DELETE FROM refold_progress WHERE generation = ?1 AND document <= +?2`},
	dropGeneration: {"dropping a generation", `DELETE FROM refold_generations WHERE id = ?1`},
}

// inGenerations restricts to the generations of a collection, the second parameter,
// those that are being dropped among them.
const inGenerations = ` AND generation IN (
			SELECT id FROM refold_generations INDEXED BY refold_generation_names WHERE collection = ?2 AND state < 5
			UNION ALL SELECT id FROM refold_generations INDEXED BY refold_dropping WHERE id > 0 AND state = 5 AND collection = ?2)`

// selectForgotten returns a row if anything was forgotten.
const selectForgotten = `SELECT 1 FROM refold_forgotten WHERE hash >= x'' ORDER BY hash LIMIT 1`

// fromCollection finds a generation by what named returns, as its first three
// parameters. What is served is one step; the search is for other names only.
const fromCollection = `
		FROM refold_collections c
		JOIN refold_generations g ON g.id = iif(+?2 IN (0, c.version) AND +?3 = '', c.serving, (
			SELECT x.id FROM refold_generations x
			WHERE x.collection = c.id AND x.version = iif(+?2 = 0, c.version, +?2) AND x.state < 5
			AND x.source = iif(+?3 = '', 0, (SELECT s.id FROM refold_collections s WHERE s.name = +?3))))`

// The columns of a document, in the order that fillDocument reads them.
const (
	selectDocument = `
		SELECT d.name, d.head, d.last_position, p.applied, p.epoch, p.dirty, p.since_position, p.since_time, p.parked, p.attempts, p.failed,
			f.seq, f.error, f.stack, p.not_before, f.first_at, f.last_at, p.deleted, p.changed, p.news,
			p.owner, p.leased_at, p.leased_until, d.contributions, `
	// selectRound and joinRound are for what may be a mapping, which has no bare name.
	selectRound = `, r.round, r.readers, r.after`
	joinRound   = `
		LEFT JOIN refold_fanouts r ON r.document = d.id`
	// fromServed is fromDocument for a bare name. It is what runs load by, and finds
	// everything by the collection's row alone.
	fromServed = `
		FROM refold_collections c
		JOIN refold_documents d ON d.collection = iif(c.derived, -c.serving, c.id)
		JOIN refold_progress p ON p.generation = c.serving AND p.document = d.id
		LEFT JOIN refold_failures f ON p.failed AND f.generation = p.generation AND f.document = d.id`
	whereServed  = ` WHERE c.name = +?1 AND d.name = +?2`
	fromDocument = fromCollection + `
		JOIN refold_documents d ON d.collection = g.space
		JOIN refold_progress p ON p.generation = g.id AND p.document = d.id
		LEFT JOIN refold_failures f ON p.failed AND f.generation = p.generation AND f.document = d.id`
	fromChanges = `
		FROM refold_generations g
		CROSS JOIN refold_progress p INDEXED BY refold_changes ON p.generation = g.id
		CROSS JOIN refold_documents d ON d.id = p.document
		LEFT JOIN refold_failures f ON p.failed AND f.generation = p.generation AND f.document = d.id`
	joinViews = `
		LEFT JOIN refold_views v ON v.generation = p.generation AND v.document = d.id`
	whereName    = ` WHERE c.name = +?1 AND d.name = +?4`
	whereChanged = `
		WHERE g.id = +?1 AND p.changed > +?2 AND p.changed < +?4 AND p.changed > 0 ORDER BY p.changed LIMIT +?3`
	whereAfter = ` WHERE c.name = +?1 AND d.name > +?4 ORDER BY d.name LIMIT +?5`
)
