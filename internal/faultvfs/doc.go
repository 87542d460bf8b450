// Package faultvfs puts a layer of ours under SQLite, for tests only: it lets any
// call that SQLite makes to the file system fail, lets any of SQLite's
// allocations fail, and records writes and syncs so that a power cut at any
// moment can be played.
//
// The layer is a SQLite VFS that is made the default one of the process. What is
// opened by path, as package store/sqlite does, goes through it without knowing.
// It passes everything on to the VFS that was the default before, unless the
// file lies in a folder that was given to [Attach]: then the [Disk] of that
// folder decides. Each Disk is armed and recorded by itself, so that tests which
// work in different folders may run at once. Memory is one for all: see
// [FailAllocation].
//
// What it cannot reach: calls that do not go through SQLite (package os, flock),
// memory that is mapped (the index of the write-ahead log), and temporary files,
// which have no folder.
package faultvfs
