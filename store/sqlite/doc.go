// Package sqlite is the embedded backend of Refold: one SQLite file, in which
// the application's own tables may live too.
//
//   - Durable: an acknowledged append survives a power cut, because its group is
//     committed with synchronous=FULL. [Options].Sync can relax that.
//   - Grouped: appends and commits that wait together share one transaction and
//     one sync. A lone caller never waits for company.
//   - Patient: while another process holds the write lock, callers wait in Go;
//     one whose context ends leaves at once with [store.ErrBusy].
//   - Careful: [Open] looks at a file before it changes it, and refuses what it
//     does not know, untouched. Nothing is ever repaired or deleted.
//   - Shared: any number of processes may append and read at once; [Store.Claim]
//     lets one of them fold.
//   - Forgetful: what is deleted is overwritten with zeros, and [Store.Forget]
//     says what else it does so that nothing of a document is left.
//   - Persistent: what cannot be written now is refused with the cause, and it
//     goes on by itself when that is gone. [Store.Check] tells of it.
//
// All tables are named refold_…; the application must not write to them. Beside
// the file FILE there are FILE-wal and FILE-shm, which are SQLite's, and
// FILE.lock, which is empty and carries the claim.
//
// The file has to be on a local file system: SQLite's write-ahead log needs
// shared memory between processes. A second SQLite library on the same file in
// one process is not supported, because closing a file drops the locks of the
// other library; for the same reason the application must not open the file
// with package os. Several connections of github.com/mattn/go-sqlite3 are fine.
package sqlite
