//go:build cgo

package faultvfs

// #include <stdlib.h>
// #include "vfs.h"
import "C"

import (
	"errors"
	"fmt"
	"path/filepath"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // whose SQLite it is
)

func init() {
	if rc := C.memory_init(); rc != 0 {
		panic(fmt.Sprint("faultvfs: cannot set SQLite's allocator: code ", rc))
	}
	if rc := C.faultvfs_init(); rc != 0 {
		panic(fmt.Sprint("faultvfs: cannot register the VFS: code ", rc))
	}
}

// Kinds is a set of kinds of calls that SQLite makes to its VFS.
type Kinds uint32

// The kinds of calls. Giving locks back and closing never fail.
const (
	Open Kinds = 1 << iota
	Read
	Write
	Truncate
	Sync
	Size
	Lock
	ShmMap
	ShmLock
	Delete
	Access
	// All are the calls of all kinds.
	All Kinds = 1<<iota - 1
)

// Effect is how a call fails.
type Effect int

const (
	// IOError does nothing and reports an I/O error.
	IOError Effect = iota
	// Full does nothing and reports that the disk is full. Only writes, and the
	// making of shared memory, say so; calls of other kinds report an I/O error.
	Full
	// Torn writes the first half of the bytes and reports an I/O error. Calls of
	// other kinds do nothing.
	Torn
)

// Fault says which call fails, and how.
type Fault struct {
	// Kinds are the calls that are counted.
	Kinds Kinds
	// At is which of them fails, from when it is armed; 1 is the first.
	At int64
	// Lasting lets all later ones fail too, until the disk is healed.
	Lasting bool
	// Effect is how they fail.
	Effect Effect
}

// Disk is a folder whose files SQLite reaches through this package. Its methods
// may be called at once from any number of goroutines.
//
// A sync of one of its files is counted and recorded, and reaches no disk: these
// tests cut no real power, and it would be most of their time.
type Disk struct {
	c      *C.disk
	folder string
}

// Attach puts a folder under the control of a new Disk, which lets all calls
// succeed. Files in it must not be open. folder is where they are when symbolic
// links are followed.
func Attach(folder string) (*Disk, error) {
	full, err := filepath.Abs(folder)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return nil, err
	}
	name := C.CString(full)
	defer C.free(unsafe.Pointer(name))
	c := C.disk_attach(name)
	if c == nil {
		return nil, errors.New("faultvfs: no memory")
	}
	return &Disk{c: c, folder: full}, nil
}

// Detach gives the folder back. The Disk must not be used afterwards. It is an
// error if files of it are open; then nothing happens.
func (d *Disk) Detach() error {
	if n := C.disk_detach(d.c); n > 0 {
		return fmt.Errorf("faultvfs: %d files in %s are open", n, d.folder)
	}
	d.c = nil
	return nil
}

// Arm sets the fault of the disk, instead of an earlier one, and counts anew.
func (d *Disk) Arm(f Fault) {
	lasting := C.int(0)
	if f.Lasting {
		lasting = 1
	}
	C.disk_arm(d.c, C.uint32_t(f.Kinds), C.int64_t(f.At), lasting, C.int(f.Effect))
}

// Heal lets all calls succeed again.
func (d *Disk) Heal() { d.Arm(Fault{}) }

// Count counts calls of these kinds from now on and lets all succeed.
func (d *Disk) Count(kinds Kinds) { d.Arm(Fault{Kinds: kinds}) }

// Counted returns how many calls were counted since the disk was armed.
func (d *Disk) Counted() int64 { return int64(C.disk_counted(d.c)) }

// Fired returns how many calls failed since the disk was armed.
func (d *Disk) Fired() int64 { return int64(C.disk_fired(d.c)) }

// Calls returns how many calls of one or more kinds there were since Attach.
func (d *Disk) Calls(kinds Kinds) (n int64) {
	for kind := range C.int(C.K_COUNT) {
		if kinds>>kind&1 != 0 {
			n += int64(C.disk_calls(d.c, kind))
		}
	}
	return n
}
