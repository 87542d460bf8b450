// Package rebuild tests a new generation over a history on SQLite, in a process that is
// killed on the way, while writers append and readers read. REFOLD_REBUILD_DOCUMENTS says
// how many documents there are, of ten operations each, and REFOLD_REBUILD_PAUSE how many
// microseconds each of four writers rests between two appends.
package rebuild
