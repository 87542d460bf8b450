package sqlite

import (
	"database/sql/driver"
	"reflect"
	"strings"
	"testing"
)

// TestPlans: no statement scans a table or sorts, but the one that lists all
// collections, and those that look for documents by a flag use its index.
func TestPlans(t *testing.T) {
	s := fresh(t, nil)
	err := s.read(t.Context(), func(c *conn) error {
		for st := range statementCount {
			p, err := c.keep(st)
			if err != nil {
				return err
			}
			rows, err := c.raw.QueryContext(background, "EXPLAIN QUERY PLAN "+st.sql(), p.args)
			if err != nil {
				return err
			}
			row := make([]driver.Value, 4)
			index := map[statement]string{runnablePage: "INDEX refold_runnable", countDirty: "COVERING INDEX refold_runnable",
				countParked: "COVERING INDEX refold_parked", parkedPage: "INDEX refold_parked",
				changesPlain: "INDEX refold_changes (generation=? AND changed>? AND changed<?)", changesViews: "INDEX refold_changes (generation=? AND changed>? AND changed<?)",
				logStart: "SEARCH refold_log USING INTEGER PRIMARY KEY (rowid<?)", logPage: "SEARCH l USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
				fillRows: "SEARCH d USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", manyDirty: "COVERING INDEX refold_runnable (generation=? AND parked=?)",
				firstBehind: "SEARCH n USING INDEX refold_runnable (generation=? AND parked=?)", sliceEnd: "SEARCH refold_progress USING",
				nextDropping: "INDEX refold_dropping", dropDropping: "INDEX refold_dropping", dropViews: "SEARCH refold_views USING PRIMARY KEY (generation=? AND document=?)",
				sweepViews:  "PRIMARY KEY (generation=? AND document<?)",
				dropLog:     "SEARCH refold_log USING INTEGER PRIMARY KEY (rowid=?)",
				getReceiver: "(collection=? AND name=?)", getReader: "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)", lowestDelta: "PRIMARY KEY (document=? AND seq>?)",
				lastSent: "INDEX refold_senders (mapping=? AND document=?)", standIn: "SEARCH e USING PRIMARY KEY (document=? AND seq<?)",
				dropDeltas: "PRIMARY KEY (document=? AND seq<?)", readDeltas: "PRIMARY KEY (document=? AND seq>? AND seq<?)", anyNews: "PRIMARY KEY (document=? AND seq>? AND seq<?)",
				listDependents: "INDEX refold_dependents (source=?)", contributorsPage: "INDEX refold_contributors (mapping=? AND key>?)",
				contributionsPage: "PRIMARY KEY (document=? AND (input,source)>(?,?))", readersPage: "INDEX refold_readers (collection=? AND name=? AND generation=? AND document>?)",
				inputsOf: "INDEX refold_mappings (feeds=?)", countDependents: "INDEX refold_dependents (source=?)", refill: "INDEX refold_dependents (source=?)",
				fillPage: "SEARCH d USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", sentPage: "COVERING INDEX refold_senders (mapping=?)",
				retractContribution: "INDEX refold_contributors (mapping=? AND key=?)", nextMade: "INDEX refold_dropping"}[st]
			uses := index == ""
			for rows.Next(row) == nil {
				detail := row[3].(string)
				uses = uses || strings.Contains(detail, index)
				scan := strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "VALUES") && !strings.Contains(detail, "CONSTANT ROW")
				if st != allCollections && scan || strings.Contains(detail, "TEMP B-TREE") {
					t.Errorf("%d %s: %s", st, st.what(), detail)
				} else {
					t.Logf("%d %s: %s", st, st.what(), detail)
				}
			}
			rows.Close()
			if !uses {
				t.Errorf("%d %s does not use %s", st, st.what(), index)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsPreparedTwice: SQLite prepares a statement again when a parameter
// is bound that its plan may depend on. None of ours may have such a parameter.
func TestNothingIsPreparedTwice(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	c := s.writer.conn
	for st := range statementCount {
		p, err := c.keep(st)
		if err != nil {
			t.Fatal(err)
		}
		again := func() int64 { return reflect.ValueOf(p.stmt).Elem().FieldByName("repreps").Int() }
		var first int64
		for i := range 4 {
			for j := range p.args {
				p.args[j].Value = int64(2*i + j)
			}
			// Most fail, on a type or a constraint, but not before they are prepared.
			if rows, err := p.stmt.QueryContext(background, p.args); err == nil {
				rows.Close()
			}
			if i == 1 {
				first = again()
			}
		}
		if n := again() - first; n != 0 {
			t.Errorf("%q was prepared %d times again in 2 runs: put a plus before its parameters", st.sql(), n)
		}
	}
}
