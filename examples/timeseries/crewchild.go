package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// child is a process that runs, as its parent sees it.
type child struct {
	cmd      *exec.Cmd
	orders   *json.Encoder
	receipts chan receipt
	ended    chan struct{} // closed when it will answer no more
}

// grace is how long a child may take to end when it is told to.
const grace = 15 * time.Second

// errEnded means that the child has ended, or is to.
var errEnded = errors.New("it has ended, or talks no sense")

// employ starts a child and calls next until that returns an error. Then, or when the
// command's context ends, the child is told to end; it stores first what it has in hand. The
// error is what next returned, or after errEnded how the child has ended, if not well.
func employ(cmd *exec.Cmd, next func(*child) error) error {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Cancel, cmd.WaitDelay = stdin.Close, grace
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &child{cmd: cmd, orders: json.NewEncoder(stdin), receipts: make(chan receipt, 1), ended: make(chan struct{})}
	go c.receive(stdout)
	for err == nil {
		err = next(c)
	}
	stdin.Close()
	<-c.ended
	if waited := cmd.Wait(); err == errEnded && waited != nil {
		return waited
	}
	return err
}

// receive takes receipts until the child's output ends, or talks no sense.
func (c *child) receive(stdout io.Reader) {
	for receipts := json.NewDecoder(stdout); ; {
		var r receipt
		if receipts.Decode(&r) != nil {
			close(c.ended)
			io.Copy(io.Discard, stdout) // so that it does not wait for a reader
			return
		}
		select {
		case c.receipts <- r:
		default: // nobody has asked for it
		}
	}
}

// hand gives the child a batch and waits for its receipt. If kill is set it is killed
// with the batch in hand.
func (c *child) hand(b batch, kill bool) error {
	if c.orders.Encode(b) != nil {
		return errEnded
	}
	if kill {
		c.cmd.Process.Kill()
		<-c.ended // and if it was faster, the batch is given again all the same
		return errEnded
	}
	select {
	case r := <-c.receipts:
		return r.of(b)
	case <-c.ended:
		select {
		case r := <-c.receipts: // its last words
			return r.of(b)
		default:
			return errEnded
		}
	}
}

// of returns what a receipt says of a batch.
func (r receipt) of(b batch) error {
	switch {
	case r.Number != b.Number:
		return fmt.Errorf("batch %d was answered as batch %d", b.Number, r.Number)
	case r.Error != "":
		return fmt.Errorf("batch %d: %s", b.Number, r.Error)
	}
	return nil
}
