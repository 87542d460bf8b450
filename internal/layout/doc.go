// Package layout has no code. Its tests hold the shape of the module: who may
// import whom, and how long a file may be.
package layout
