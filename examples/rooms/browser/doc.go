// Package browser has no code. Its test opens the page of examples/rooms in a
// headless Chromium, in two tabs, and takes the server away from under them.
//
// It is a module of its own, so that who uses Refold does not get what drives a
// browser into his list of modules.
package browser
