package main

import (
	"fmt"

	"github.com/refold-go/refold/materializer"
)

// document is what a commit changes in one document.
type document struct {
	id         string
	operations []materializer.NewOperation[Change]
}

// documents returns what a commit changes, an operation for each line of the
// log.
func documents(c Commit) []document {
	docs := make([]document, 0, len(c.Changes))
	place := make(map[string]int, len(c.Changes)) // of an id in docs
	for _, ch := range c.Changes {
		id := documentID(ch.Path)
		i, again := place[id]
		if !again {
			i = len(docs)
			place[id] = i
			docs = append(docs, document{id: id})
		}
		d := &docs[i]
		d.operations = append(d.operations, materializer.NewOperation[Change]{
			ID:   operationID(c.Hash, len(d.operations)),
			Time: operationTime(c.Time),
			Body: Change{Author: c.Author, Added: ch.Added, Deleted: ch.Deleted, Binary: ch.Binary},
		})
	}
	return docs
}

// operationID is the id of the change of a commit to a file: the commit, and a
// number if the commit lists the file again.
func operationID(commit string, before int) string {
	if before == 0 {
		return commit
	}
	return fmt.Sprintf("%s#%d", commit, before+1)
}
