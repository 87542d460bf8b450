package store

import (
	"math"
	"strconv"
	"strings"
)

// CollectionName is a collection, or a generation of it: the views that one version
// of its fold made. It is written in four ways:
//
//	notes             the generation that is served
//	notes@2           the generation of version 2, whether it is served or not
//	authors@1<files   the mapping that feeds version 1 of authors from files
//	authors<files     the same of the generation that is served
//
// [Store.Load], [Store.Operations], [Store.Commit], [Store.Runnable], [Store.Scan],
// [Parking.Parked], [Parking.Resume], [Censor.Count] and [Feed.Changes] take all of
// them, as the name or as the collection of a key, and return names as they were
// given. All other methods take a collection only, and those of them that write
// return an [InvalidError] for a name with a version or a source. Where there is no
// such generation, it is that of an unknown collection. So is what [ParseCollection]
// refuses, but that [Store.Commit] returns the error.
type CollectionName struct {
	// Name is the collection.
	Name string
	// Version is that of the generation; 0 means the one that is served.
	Version int
	// Source is the collection that a mapping reads; empty if it is none.
	Source string
}

// ParseCollection reads what String wrote, and only that. Errors: [ErrInvalid], with
// what is wrong.
func ParseCollection(text string) (CollectionName, error) {
	if !strings.ContainsAny(text, "@<") {
		if err := CheckCollection(text); err != nil {
			return CollectionName{}, err
		}
		return CollectionName{Name: text}, nil
	}
	name, source, mapping := strings.Cut(text, "<")
	name, version, versioned := strings.Cut(name, "@")
	n := CollectionName{Name: name, Source: source}
	if err := CheckCollection(name); err != nil {
		return CollectionName{}, err
	}
	if mapping {
		if err := CheckCollection(source); err != nil {
			return CollectionName{}, err
		}
	}
	if versioned {
		number, err := strconv.ParseInt(version, 10, 32)
		if err != nil || number < 1 || strconv.FormatInt(number, 10) != version {
			return CollectionName{}, &InvalidError{
				Field: "version in a collection name", Got: quoted(version), Want: "a number from 1 to " + strconv.Itoa(math.MaxInt32),
			}
		}
		n.Version = int(number)
	}
	return n, nil
}

// CheckBare returns an [InvalidError] if name has a version or a source, for what
// concerns a collection with all its generations.
func CheckBare(name string) error {
	if strings.ContainsAny(name, "@<") {
		return &InvalidError{Field: "collection name", Got: quoted(name), Want: "that of a collection, without a version or a source"}
	}
	return nil
}

// BareName returns the collection in a name, without its version and source.
func BareName(name string) string {
	if i := strings.IndexAny(name, "@<"); i >= 0 {
		return name[:i]
	}
	return name
}

// String returns the text form.
func (n CollectionName) String() string {
	text := n.Name
	if n.Version != 0 {
		text += "@" + strconv.Itoa(n.Version)
	}
	if n.Source != "" {
		text += "<" + n.Source
	}
	return text
}
