// Package model has no code. Its tests hold the models in docs/model against
// the dispatcher's table: both have the same arrows, and what breaks a mutant of
// the model does not break the table.
package model
