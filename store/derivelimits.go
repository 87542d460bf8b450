package store

import (
	"fmt"
	"strconv"
)

// CheckDerivation checks what can be checked of a derivation without looking at the
// store. Errors: [InvalidError], and [*CycleError] if it is a source of itself.
func CheckDerivation(d Derivation) error {
	if err := CheckCollection(d.Name); err != nil {
		return err
	}
	if err := CheckVersion(d.Version); err != nil {
		return err
	}
	if n := len(d.Sources); n < 1 || n > MaxSources {
		return &InvalidError{Field: "sources of " + d.Name, Got: strconv.Itoa(n), Want: fmt.Sprintf("1 to %d", MaxSources)}
	}
	seen := make(map[string]bool, len(d.Sources))
	for _, source := range d.Sources {
		switch err := CheckCollection(source); {
		case err != nil:
			return err
		case source == d.Name:
			return &CycleError{Path: []string{d.Name, source}}
		case seen[source]:
			return &InvalidError{Field: "sources of " + d.Name, Got: source + " twice", Want: "each once"}
		}
		seen[source] = true
	}
	return nil
}

// checkDerived checks what concerns derived collections.
func (c *Commit) checkDerived(name CollectionName) error {
	invalid := func(got, want string) error {
		return &InvalidError{Field: "commit of " + c.Key.String(), Got: got, Want: want}
	}
	e := c.Effects
	switch {
	case e == nil && name.Source != "" && c.Applied > c.Loaded:
		return invalid("no effects", "those of a document of a mapping")
	case e == nil:
		return c.checkReads()
	case name.Source == "":
		return invalid("effects", "none for a document that is not of a mapping")
	case c.Failure != nil || len(c.Reads) > 0:
		return invalid("effects with a failure or reads", "either")
	case e.From.To != c.Applied || c.Applied == c.Loaded:
		return invalid(fmt.Sprintf("applied %d with effects of a round to %d", c.Applied, e.From.To), "the same, beyond what was loaded")
	case len(e.Pairs) > MaxEffects:
		return invalid(fmt.Sprintf("effects on %d documents", len(e.Pairs)), fmt.Sprintf("at most %d", MaxEffects))
	case e.From.Readers && (len(e.Pairs) > 0 || !e.Touch):
		return invalid("keys in a round that is through with them", "none")
	}
	after := e.From.After
	for i, p := range e.Pairs {
		if err := checkText("document id", p.Key, 1, MaxDocumentID); err != nil {
			return err
		}
		if len(p.Body) > MaxBody {
			return invalid(fmt.Sprintf("a contribution of %d bytes", len(p.Body)), fmt.Sprintf("at most %d", MaxBody))
		}
		if p.Key <= after || e.Upto != "" && p.Key > e.Upto {
			return invalid(fmt.Sprintf("pair %d for %s", i, quoted(p.Key)), fmt.Sprintf("keys in order, behind %s up to %s", quoted(after), quoted(e.Upto)))
		}
		after = p.Key
	}
	if e.Upto != "" && e.Upto <= e.From.After {
		return invalid("a slice up to "+quoted(e.Upto), "one that ends behind "+quoted(e.From.After))
	}
	return nil
}

func (c *Commit) checkReads() error {
	if len(c.Reads) > MaxReads {
		return &InvalidError{Field: "commit of " + c.Key.String(), Got: fmt.Sprintf("%d reads", len(c.Reads)), Want: fmt.Sprintf("at most %d", MaxReads)}
	}
	if err := checkDistinct(len(c.Reads), "read", func(i int) Key { return c.Reads[i].Key }); err != nil {
		return err
	}
	for i := range c.Reads {
		if err := CheckKey(c.Reads[i].Key); err != nil {
			return err
		}
		if c.Reads[i].Version < 0 {
			return &InvalidError{Field: "read of " + c.Reads[i].Key.String(), Got: fmt.Sprint("version ", c.Reads[i].Version), Want: "0 or more"}
		}
	}
	return nil
}
