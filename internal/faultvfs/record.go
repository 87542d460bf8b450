//go:build cgo

package faultvfs

// #include "vfs.h"
import "C"

import "unsafe"

// Record begins to record what changes the files of SQLite in the folder, which
// must be empty.
func (d *Disk) Record() { C.disk_record(d.c, 1) }

// Mark puts a number into the record: that something was acknowledged, say.
func (d *Disk) Mark(n int64) { C.disk_mark(d.c, C.int64_t(n)) }

// FolderSynced tells the record that somebody has synced the folder, with package
// os. What SQLite syncs is recorded by itself.
func (d *Disk) FolderSynced() { C.disk_folder_synced(d.c) }

// Recorded ends the recording and returns what was recorded.
func (d *Disk) Recorded() *Recording {
	C.disk_record(d.c, 0)
	var events *C.event
	var data *C.char
	n := int(C.disk_events(d.c, &events, &data))
	r := &Recording{events: make([]event, n)}
	if n == 0 {
		return r
	}
	for i, e := range unsafe.Slice(events, n) {
		r.events[i] = event{
			kind: eventKind(e.kind), file: int(e.file), offset: int64(e.offset), covers: int(e.covers),
			data: C.GoBytes(unsafe.Pointer(uintptr(unsafe.Pointer(data))+uintptr(e.at)), C.int(e.size)),
		}
	}
	return r
}
