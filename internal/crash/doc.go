// Package crash has the tests that kill processes: a child appends and folds on
// a file, is killed at a random moment, and what it leaves behind is checked.
// They show that nothing acknowledged is lost when a process ends; they do not
// show that it survives a power cut, because the page cache outlives the
// process.
package crash
