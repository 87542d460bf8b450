package sqlite

// derivedStatements are those of derived collections and their mappings.
var derivedStatements = map[statement]statementText{
	getReceiver: {"reading a derived document", `
		SELECT d.id, d.head, p.dirty, p.parked, p.since_position
		FROM refold_documents d JOIN refold_progress p ON p.generation = +?1 AND p.document = d.id
		WHERE d.collection = +?2 AND d.name = +?3`},
	getReader: {"reading a derived document", `
		SELECT d.id, d.head, p.dirty, p.parked, p.since_position, d.name
		FROM refold_documents d JOIN refold_progress p ON p.generation = +?1 AND p.document = d.id
		WHERE d.id = +?2`},
	newDerived: {"making a derived document", `
		INSERT INTO refold_documents (collection, name, head, last_position, contributions) VALUES (?1, ?2, 1, ?3, ?4)`},
	moveDerived: {"moving a head", `
		UPDATE refold_documents SET head = head + 1, last_position = ?2, contributions = contributions + ?3 WHERE id = ?1`},
	setSince: {"marking a document dirty", `
		UPDATE refold_progress SET dirty = 1, since_position = ?3, since_time = ?4 WHERE generation = ?1 AND document = ?2`},
	insertDelta: {"writing a delta", `
		INSERT INTO refold_deltas (document, seq, position, at, body, marks, mapping) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`},
	standIn: {"writing a delta", `
		UPDATE refold_deltas SET seq = seq + 1, at = iif(?3 < position, ?4, at), position = min(position, ?3), marks = iif(?5, marks, NULL)
		WHERE document = ?1 AND seq = ?2 AND EXISTS (SELECT 1 FROM refold_deltas e WHERE e.document = +?1 AND e.seq < +?2)`},
	lastSent: {"merging deltas", `
		SELECT seq, body FROM refold_deltas INDEXED BY refold_senders
		WHERE mapping = +?1 AND mapping > 0 AND document = +?2 ORDER BY seq DESC LIMIT 1`},
	mergeDelta: {"merging deltas", `
		UPDATE refold_deltas SET at = iif(?3 < position, ?4, at), position = min(position, ?3), marks = iif(?5, marks, NULL), body = ?6
		WHERE document = ?1 AND seq = ?2`},
	countContributions: {"merging deltas", `UPDATE refold_documents SET contributions = contributions + ?2 WHERE id = ?1`},
	lowestDelta: {"reading the place of a delta", `
		SELECT min(position), at FROM refold_deltas WHERE document = +?1 AND seq > +?2`},
	dropDeltas: {"removing deltas", `DELETE FROM refold_deltas WHERE document = ?1 AND seq <= +?2`},
	readDeltas: {"reading deltas", `
		SELECT seq, position, NULL, NULL, at, NULL, body, marks FROM refold_deltas
		WHERE document = (SELECT id FROM refold_documents WHERE collection = +?1 AND name = +?2)
		AND seq >= +?3 AND seq <= +?4 ORDER BY seq LIMIT +?5`},
	listDependents: {"reading what is made of a collection", `
		SELECT g.id, g.space, g.version, g.epoch, c.name FROM refold_generations g INDEXED BY refold_dependents
		JOIN refold_collections c ON c.id = g.collection
		WHERE g.source = +?1 AND g.source > 0 AND g.state < 5 ORDER BY g.id`},
	getBefore: {"comparing a view", `
		SELECT p.deleted, p.since_position, p.since_time, v.body = ?3 FROM refold_progress p
		LEFT JOIN refold_views v ON v.generation = p.generation AND v.document = p.document
		WHERE p.generation = +?1 AND p.document = +?2`},
	anyNews: {"reading deltas", `
		SELECT 1 FROM refold_deltas WHERE document = +?1 AND seq > +?2 AND coalesce(marks, 0) & 2 = 0
		AND seq <= (SELECT min(seq) FROM refold_deltas WHERE document = +?1 AND seq >= +?3) LIMIT 1`},
	getRound: {"reading a round", `SELECT round, readers, after FROM refold_fanouts WHERE document = ?1`},
	putRound: {"writing a round", `INSERT INTO refold_fanouts (document, round, readers, after) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (document) DO UPDATE SET round = excluded.round, readers = excluded.readers, after = excluded.after`},
	dropRound: {"ending a round", `DELETE FROM refold_fanouts WHERE document = ?1`},
	contributorsPage: {"comparing contributions", `
		SELECT key, document, body FROM refold_contributions INDEXED BY refold_contributors WHERE mapping = +?1 AND key > +?2 ORDER BY key`},
	newContribution: {"writing a contribution", `
		INSERT INTO refold_contributions (document, input, source, mapping, key, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`},
	setContribution: {"writing a contribution", `
		UPDATE refold_contributions SET body = ?4 WHERE document = ?1 AND input = ?2 AND source = ?3`},
	dropContribution: {"removing a contribution", `
		DELETE FROM refold_contributions WHERE document = ?1 AND input = ?2 AND source = ?3`},
	contributionsPage: {"reading contributions", `
		SELECT input, source, body FROM refold_contributions
		WHERE document = (SELECT id FROM refold_documents WHERE collection = +?1 AND name = +?2)
		AND (input, source) > (+?3, +?4) ORDER BY input, source LIMIT +?5`},
	readersPage: {"looking who has read a document", `
		SELECT document, version FROM refold_edges INDEXED BY refold_readers
		WHERE collection = +?1 AND name = +?2 AND generation = +?3 AND document > +?4 ORDER BY document LIMIT +?5`},
	inputsOf: {"reading the sources of a collection", `
		SELECT g.source, c.name, g.id, g.scanned, g.until, g.made, g.mark, g.started, g.epoch
		FROM refold_generations g INDEXED BY refold_mappings JOIN refold_collections c ON c.id = g.source
		WHERE g.feeds = +?1 AND g.feeds > 0 ORDER BY g.input`},
	edgesOf: {"reading what a document has read", `SELECT collection, name, version FROM refold_edges WHERE document = +?1`},
	getEdge: {"looking who has read a document", `SELECT version FROM refold_edges WHERE document = +?1 AND collection = +?2 AND name = +?3`},
	getChanged: {"looking whether a source has changed", `
		SELECT p.changed FROM refold_documents d JOIN refold_progress p ON p.generation = +?1 AND p.document = d.id
		WHERE d.collection = +?2 AND d.name = +?3`},
	putEdge: {"recording what a document has read", `
		INSERT INTO refold_edges (document, collection, name, version, generation) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (document, collection, name) DO UPDATE SET version = excluded.version`},
	dropEdge: {"recording what a document has read", `DELETE FROM refold_edges WHERE document = ?1 AND collection = ?2 AND name = ?3`},
	readsOf: {"reading what a document has read", `
		SELECT c.name, e.name, e.version FROM refold_edges e JOIN refold_collections c ON c.id = e.collection
		WHERE e.document = (SELECT id FROM refold_documents WHERE collection = +?1 AND name = +?2)`},
	madeOf: {"looking what a collection is made of", `
		SELECT g.source, c.name FROM refold_generations g INDEXED BY refold_generation_names JOIN refold_collections c ON c.id = g.source
		WHERE g.collection = +?1 AND g.state < 5 AND g.source > 0 AND c.name IS NOT NULL`},
	newDerivedCollection: {"making a collection", `
		INSERT INTO refold_collections (name, version, serving, epoch, derived) VALUES (?1, 0, 0, 0, 1) RETURNING id`},
	startDerived: {"starting a generation", `
		INSERT INTO refold_generations (id, collection, version, source, feeds, input, deltas, space, state, epoch, until, mark, started)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, -?1, ?8, ?9, ?10, ?11, ?12)`},
	countDependents: {"counting what is made of a collection", `
		UPDATE refold_collections SET dependents = (SELECT count(*) FROM refold_generations g INDEXED BY refold_dependents
			WHERE g.source = refold_collections.id AND g.source > 0 AND g.state < 5) WHERE id = ?1`},
	getMark: {"comparing generations", `SELECT mark FROM refold_generations WHERE id = ?1`},
	setMark: {"noting how far a generation is", `UPDATE refold_generations SET mark = ?2 WHERE id = ?1 AND mark < ?2`},
	firstParkedHere: {"comparing generations", `
		SELECT d.name FROM refold_progress n INDEXED BY refold_runnable
		JOIN refold_documents d ON d.id = n.document
		WHERE n.generation = +?1 AND n.parked = 1 AND n.dirty = 1 AND NOT EXISTS (
			SELECT 1 FROM refold_documents e JOIN refold_progress o ON o.generation = +?2 AND o.document = e.id
			WHERE e.collection = -?2 AND e.name = d.name AND o.parked = 1 AND o.dirty = 1 AND o.since_position <= n.since_position)
		LIMIT 1`},
	setMappings: {"switching generations", `UPDATE refold_generations SET state = ?2 WHERE feeds = ?1 AND feeds > 0`},
	refill: {"starting to fill a generation", `
		UPDATE refold_generations SET scanned = 0, made = 0, until = ?2, mark = iif(scanned < until, min(mark, ?3), ?3), started = ?4
		WHERE source = ?1 AND source > 0 AND state < 5`},
	fillPage: {"filling a mapping", `
		SELECT d.name FROM refold_documents d NOT INDEXED
		WHERE d.id > +?1 AND d.id <= +?2 AND (
			d.collection = +?3 AND EXISTS (SELECT 1 FROM refold_progress p WHERE p.generation = +?4 AND p.document = d.id)
			OR d.collection = +?5 AND NOT EXISTS (SELECT 1 FROM refold_documents s JOIN refold_progress p ON p.generation = +?4 AND p.document = s.id
				WHERE s.collection = +?3 AND s.name = d.name))
		ORDER BY d.id`},
	everyDependent: {"forgetting a document", `
		SELECT id, feeds FROM refold_generations INDEXED BY refold_dependents WHERE source = +?1 AND source > 0 AND state < 5
		UNION ALL
		SELECT id, feeds FROM refold_generations INDEXED BY refold_dropping WHERE id > 0 AND state = 5 AND source = +?1`},
	newErasing: {"forgetting a document", `
		INSERT INTO refold_documents (collection, name, last_position, head) VALUES (0, ?1, ?2, ?3) ON CONFLICT DO NOTHING`},
	dropProgressOf: {"erasing a document", `DELETE FROM refold_progress WHERE generation = ?1 AND document = ?2`},
	getFeeding: {"erasing a document", `
		SELECT m.source, m.feeds, f.version, f.state, f.epoch, c.name, c.serving, f.deltas FROM refold_generations m
		JOIN refold_generations f ON f.id = m.feeds JOIN refold_collections c ON c.id = m.collection WHERE m.id = +?1`},
	retractContribution: {"erasing a document", `DELETE FROM refold_contributions WHERE mapping = ?1 AND key = ?2`},
	sentPage: {"erasing a document", `
		SELECT document, seq FROM refold_deltas INDEXED BY refold_senders WHERE mapping = +?1 AND mapping > 0 LIMIT +?2`},
	blankDelta:        {"erasing a document", `UPDATE refold_deltas SET body = x'', mapping = NULL WHERE document = ?1 AND seq = ?2`},
	deltasOf:          {"erasing a document", `SELECT seq FROM refold_deltas WHERE document = +?1 ORDER BY seq LIMIT +?2`},
	contributionSizes: {"erasing a document", `SELECT input, source, length(body) FROM refold_contributions WHERE document = +?1`},
	nextMade: {"dropping a collection", `
		SELECT id FROM refold_generations INDEXED BY refold_dropping
		WHERE id > 0 AND state = 5 AND collection = +?1 AND space < 0 ORDER BY id LIMIT 1`},
}
