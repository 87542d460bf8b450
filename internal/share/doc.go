// Package share tests that processes which share one SQLite file never accept the work
// on a document twice: some are killed, and one is stopped for longer than its leases
// last. REFOLD_SHARE_DOCUMENTS says over how many documents, and REFOLD_SHARE_KILLS how
// often a process is killed, once a second.
package share
