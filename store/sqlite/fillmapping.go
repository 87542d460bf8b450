package sqlite

import "database/sql/driver"

// fillMappingDocuments is fillDocuments for mappings, whose documents each take some
// statements.
const fillMappingDocuments = 100

// fillMapping gives some documents of the first mapping of a generation that is not filled
// a delta since the end of the log when the filling began, and reports whether there are
// more. These are the documents of what is served of the source, in the order in which
// they were made. If that is another generation than before, there may be others that the
// mapping has documents of, which contribute nothing any more: they get one too.
func (t *transaction) fillMapping(g *state) (more bool, err error) {
	mappings, err := t.mappingsOf(g.id)
	if err != nil {
		return false, err
	}
	filled := false
	for _, m := range mappings {
		switch {
		case m.scanned >= m.until:
		case filled:
			return true, nil
		default:
			if more, err = t.fillSome(m); err != nil || more {
				return more, err
			}
			filled = true
		}
	}
	return false, nil
}

func (t *transaction) fillSome(m mapping) (more bool, err error) {
	source, err := t.collection(m.name)
	if err != nil || source == nil {
		return false, err
	}
	to := &receivers{generation: m.id, space: -m.id, epoch: m.epoch}
	end := min(m.scanned+fillMappingDocuments, m.until)
	var names []string
	err = t.run.each(fillPage, func(row []driver.Value) bool {
		names = append(names, text(row[0]))
		return true
	}, m.scanned, end, source.served.space, source.served.id, to.space)
	if err != nil {
		return false, err
	}
	d := &delta{since: sinceAt{m.mark, m.started}}
	for _, name := range names {
		r, err := t.receiver(to, name)
		if err != nil {
			return false, err
		}
		if _, err := t.give(to, r, name, d, nil); err != nil {
			return false, err
		}
	}
	return end < m.until, t.run.exec(moveScan, m.id, end, int64(len(names)))
}
