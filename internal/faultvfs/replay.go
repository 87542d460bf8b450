package faultvfs

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// eventKind says what an event is. The C side has the same numbers.
type eventKind int

const (
	created eventKind = iota
	deleted
	written
	truncated
	synced
	folderSynced
	marked
	unsynced
)

// event is something that changed a file, or that made changes durable.
type event struct {
	kind   eventKind
	file   int   // in order of creation
	offset int64 // of a write; the new size, of a truncate; the number of a mark
	covers int   // of a sync, or one that failed: how many events there were when it began
	data   []byte
}

// Recording is what happened to the files of a [Disk], in order.
type Recording struct{ events []event }

// Len returns how many events were recorded. The power can be cut after each.
func (r *Recording) Len() int { return len(r.events) }

// Marks returns the numbers that were marked among the first n events.
func (r *Recording) Marks(n int) (marks []int64) {
	for _, e := range r.events[:n] {
		if e.kind == marked {
			marks = append(marks, e.offset)
		}
	}
	return marks
}

// FailedSync returns how many events there were up to the first sync that failed,
// with it; all of them and one more if none did.
func (r *Recording) FailedSync() int {
	for i, e := range r.events {
		if e.kind == unsynced {
			return i + 1
		}
	}
	return len(r.events) + 1
}

// Loss says what a power cut does to what was not synced.
type Loss int

const (
	// Kept keeps everything: the cache had been written out.
	Kept Loss = iota
	// Lost keeps only what was synced.
	Lost
	// Mixed decides for each write by chance: kept, lost, or torn.
	Mixed
	// TornAll tears each write: each of its sectors is kept or lost by chance.
	TornAll
)

// sector is what a disk writes whole or not at all.
const sector = 512

// Image is what a disk holds after a power cut: files by their names.
type Image map[string][]byte

// Cut returns what is on the disk if the power is cut after n events.
//
// What was written to a file before a sync of it began, and that has returned, is
// there. Later writes and truncations are lost, kept or torn in any combination, and
// so are those that a sync which failed was to make durable, whatever is synced
// later: the system tells of such an error once, and keeps what it could not write
// no longer.
// That a name was made or removed is lost unless the folder was synced later, but
// always together with all later ones, as on a file system with a journal.
func (r *Recording) Cut(n int, loss Loss, chance *rand.Rand) Image {
	events := r.events[:n]
	durable := make(map[int]int)     // by file: writes before this event are there
	dropped := make(map[[2]int]bool) // but for these: file and event
	names := 0                       // names made or removed before this event are there
	for _, e := range events {
		switch e.kind {
		case synced:
			durable[e.file] = max(durable[e.file], e.covers)
		case unsynced:
			for i := durable[e.file]; i < e.covers; i++ {
				dropped[[2]int{e.file, i}] = true
			}
		case folderSynced:
			names = max(names, e.covers)
		}
	}
	names = r.lastName(names, n, loss, chance)
	contents := make(map[int][]byte)
	for i, e := range events {
		how := Kept
		if i >= durable[e.file] || dropped[[2]int{e.file, i}] {
			how = loss
		}
		switch e.kind {
		case written:
			contents[e.file] = write(contents[e.file], e, how, chance)
		case truncated:
			if how == Kept || how != Lost && chance.IntN(2) == 0 {
				contents[e.file] = resize(contents[e.file], e.offset)
			}
		}
	}
	return r.named(names, contents)
}

// lastName chooses up to which event names are as they were made or removed.
func (r *Recording) lastName(least, most int, loss Loss, chance *rand.Rand) int {
	switch loss {
	case Kept:
		return most
	case Lost:
		return least
	}
	choices := []int{least}
	for i, e := range r.events[:most] {
		if i >= least && (e.kind == created || e.kind == deleted) {
			choices = append(choices, i+1)
		}
	}
	return choices[chance.IntN(len(choices))]
}

// named gives the files that have a name after n events their names.
func (r *Recording) named(n int, contents map[int][]byte) Image {
	files := make(map[int]string)
	for _, e := range r.events[:n] {
		switch e.kind {
		case created:
			files[e.file] = string(e.data)
		case deleted:
			delete(files, e.file)
		}
	}
	image := make(Image)
	for file, name := range files {
		image[name] = contents[file]
	}
	return image
}

// write does a write, or what is left of it.
func write(content []byte, e event, how Loss, chance *rand.Rand) []byte {
	if how == Mixed {
		how = [...]Loss{Kept, Lost, TornAll}[chance.IntN(3)]
	}
	if how == Lost {
		return content
	}
	for data, at := e.data, e.offset; len(data) > 0; {
		size := min(int64(len(data)), sector-at%sector)
		if how == Kept || chance.IntN(2) == 0 {
			if end := at + size; end > int64(len(content)) {
				content = resize(content, end)
			}
			copy(content[at:], data[:size])
		}
		data, at = data[size:], at+size
	}
	return content
}

// resize cuts a file or fills it up with zeros.
func resize(content []byte, size int64) []byte {
	if n := size - int64(len(content)); n > 0 {
		return append(content, make([]byte, n)...)
	}
	content = content[:size]
	return content
}

// Write puts the files of the image into a folder.
func (m Image) Write(folder string) error {
	for name, content := range m {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Sum tells images with other contents apart.
func (m Image) Sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(h, "%q %d\n", name, len(m[name]))
		h.Write(m[name])
	}
	h.Sum(sum[:0])
	return sum
}
