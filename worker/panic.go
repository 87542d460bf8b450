package worker

import (
	"bytes"
	"fmt"
	"runtime/debug"
)

// PanicError is a panic that was turned into an error.
type PanicError struct {
	// Value is what panic was called with, never nil: panic(nil) is a
	// [*runtime.PanicNilError].
	Value any
	// Stack is the text of the goroutine's stack, from the frame that panicked on.
	Stack []byte
}

// Error says what the panic said, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic if it is an error, and nil otherwise.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Guard calls f and returns its error, or a [*PanicError] if f panicked. It
// holds back neither [runtime.Goexit] nor what the runtime calls fatal, like
// the concurrent use of a map.
func Guard(f func() error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: trimStack(debug.Stack())}
			return
		}
		// Either the goroutine is exiting, and nobody will see the error, or
		// GODEBUG=panicnil=1 has hidden a panic.
		err = ErrGoexit
	}()
	err = f()
	returned = true
	return err
}

// trimStack cuts away, after the line that names the goroutine, the frames of
// whoever recovered and of the runtime's own way to the panic. A stack that does
// not look like that is returned as it is.
func trimStack(stack []byte) []byte {
	first, frames, ok := bytes.Cut(stack, []byte("\n"))
	if !ok {
		return stack
	}
	at := bytes.Index(frames, []byte("\npanic("))
	if at < 0 {
		return stack
	}
	frames = frames[at+1:]
	for bytes.HasPrefix(frames, []byte("panic(")) || bytes.HasPrefix(frames, []byte("runtime.")) {
		// A frame is a line with the function and a line with its place.
		for range 2 {
			if _, frames, ok = bytes.Cut(frames, []byte("\n")); !ok {
				return stack
			}
		}
	}
	return bytes.Join([][]byte{first, frames}, []byte("\n"))
}
