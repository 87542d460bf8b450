package materializer

// kind is what the runs of a collection's documents do.
type kind uint8

const (
	// folding runs fold operations onto the view.
	folding kind = iota
	// adding runs fold the deltas of a derived document onto its view.
	adding
	// making runs make the view of a derived document anew.
	making
	// mapping runs find out what a source's view does to derived documents, and have no view.
	mapping
)

// reads reports whether runs read operations. The others contain all that there are
// when the document is loaded.
func (k kind) reads() bool { return k == folding || k == adding }
