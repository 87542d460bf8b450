package main

import (
	"strings"

	"github.com/refold-go/refold/materializer"
)

// Author is what one author did to all files together, in a derived collection by author.
type Author struct {
	Files   int64 `json:"files"` // that have a change of the author
	Changes int64 `json:"changes"`
}

// Folder is what was done to all files below one folder of the top level.
type Folder struct {
	Files   int64 `json:"files"`
	Changes int64 `json:"changes"`
	Added   int64 `json:"added"`
	Deleted int64 `json:"deleted"`
}

// derived are the collections that are made from the files. They are sums, which can be
// undone, so that a file that changes costs the same whatever its author or folder has
// beside it.
type derived struct {
	authors *materializer.Derived[Author]
	folders *materializer.Derived[Folder]
}

func derive(m *materializer.Materializer, files *materializer.Collection[File, Change]) (d derived, err error) {
	d.authors, err = materializer.ByContributions(m, materializer.Contributions[Author, Author]{
		Name: "authors", Version: 1,
		Sources: []materializer.Source[Author]{materializer.From(files, eachAuthor)},
		Add: func(a Author, _ materializer.Contributor, c Author) (Author, error) {
			return Author{a.Files + c.Files, a.Changes + c.Changes}, nil
		},
		Remove: func(a Author, _ materializer.Contributor, c Author) (Author, error) {
			return Author{a.Files - c.Files, a.Changes - c.Changes}, nil
		},
	})
	if err != nil {
		return d, err
	}
	d.folders, err = materializer.ByContributions(m, materializer.Contributions[Folder, Folder]{
		Name: "folders", Version: 1,
		Sources: []materializer.Source[Folder]{materializer.From(files, itsFolder)},
		Add: func(f Folder, _ materializer.Contributor, c Folder) (Folder, error) {
			return Folder{f.Files + c.Files, f.Changes + c.Changes, f.Added + c.Added, f.Deleted + c.Deleted}, nil
		},
		Remove: func(f Folder, _ materializer.Contributor, c Folder) (Folder, error) {
			return Folder{f.Files - c.Files, f.Changes - c.Changes, f.Added - c.Added, f.Deleted - c.Deleted}, nil
		},
	})
	return d, err
}

// eachAuthor contributes a file to each author who changed it.
func eachAuthor(_ string, f File, emit func(key string, a Author)) error {
	for author, changes := range f.Authors {
		emit(authorID(author), Author{Files: 1, Changes: changes})
	}
	return nil
}

// itsFolder contributes a file to the folder that it is in.
func itsFolder(id string, f File, emit func(key string, c Folder)) error {
	emit(topFolder(id), Folder{Files: 1, Changes: f.Changes, Added: f.Added, Deleted: f.Deleted})
	return nil
}

// authorID is the id of the document of an author. One without a name has that of a
// name that git cannot have.
func authorID(author string) string {
	if author == "" {
		author = "\x00"
	}
	return documentID(author)
}

// topFolder is the id of the folder of the top level that the file of a document is in;
// "." for a file that is in none.
func topFolder(id string) string {
	path := id
	if p, err := unquote(id); err == nil && documentID(p) == id {
		path = p
	} else if isCut(id) && id[0] == '"' {
		// The folder is in front of what was cut, unless its name alone is too long.
		first, _, _ := strings.Cut(id, "/")
		if p, err := unquote(first + `"`); err == nil {
			path = p + "/"
		}
	}
	folder, _, below := strings.Cut(path, "/")
	if !below {
		return "."
	}
	return documentID(folder)
}
