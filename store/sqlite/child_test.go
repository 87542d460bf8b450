package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/refold-go/refold/store"
)

// childMode is the environment variable that makes the test binary another
// process on a store: its value is one of children.
const childMode = "REFOLD_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if f, ok := children[os.Getenv(childMode)]; ok {
		if err := f(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var children = map[string]func(path string) error{
	"lock":   childLock,
	"append": childAppend,
	"claim":  childClaim,
	"doubt":  childDoubt,
	"hold":   childHold,
	"flood":  childFlood,
	"commit": childCommit,
}

// child is a process that was started, with its standard streams.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t testing.TB, mode, path string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command(exe, path)}
	c.Env = append(os.Environ(), childMode+"="+mode)
	c.Stderr = os.Stderr
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			c.Process.Kill()
			c.Wait()
		}
	})
	return c
}

// expect reads a line and compares it.
func (c *child) expect(t testing.TB, line string) {
	t.Helper()
	if got, err := c.out.ReadString('\n'); err != nil || got != line+"\n" {
		t.Fatalf("child said %q (%v), want %q", got, err, line)
	}
}

// finish lets the child go on to its end.
func (c *child) finish(t testing.TB) {
	t.Helper()
	c.in.Close()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
}

func waitForParent() { io.Copy(io.Discard, os.Stdin) }

// childLock holds the write lock of the database.
func childLock(path string) error {
	c, err := openWriter(path, false)
	if err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	fmt.Println("locked")
	waitForParent()
	return errors.Join(c.rollback(), c.shut())
}

// childAppend appends 500 operations to 10 documents that others append to too.
func childAppend(path string) error {
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	fmt.Println("open")
	for i := range 500 {
		if _, err := s.Append(context.Background(), one(fmt.Sprint(i%10), "child")); err != nil {
			return err
		}
	}
	return s.Close()
}

// childFlood appends three operations at a time without an end, and says how often.
func childFlood(path string) error {
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	fmt.Println("open")
	for i := 1; ; i++ {
		if _, err := s.Append(context.Background(), append(one("a", "1", "2"), one(fmt.Sprint(i%10), "3")...)); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

// childCommit commits the next view of a document for each line that it reads, and
// says what the last change is then.
func childCommit(path string) error {
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	fmt.Println("open")
	lines := bufio.NewScanner(os.Stdin)
	for applied := int64(1); lines.Scan(); applied++ {
		ctx := context.Background()
		out, err := s.Commit(ctx, []store.Commit{{Key: key("child"), Loaded: applied - 1, Applied: applied, View: []byte("v")}})
		if err != nil || out[0] == store.Stale {
			return fmt.Errorf("commit: %v, %w", out, err)
		}
		last, err := s.LastChange(ctx)
		if err != nil {
			return err
		}
		fmt.Println(last)
	}
	return s.Close()
}

// childClaim claims the store.
func childClaim(path string) error {
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if c, err := s.Claim(ctx); err != nil || c.Unclean {
		return fmt.Errorf("claim %+v: %w", c, err)
	}
	if _, err := s.Append(ctx, one("a", "1", "2")); err != nil {
		return err
	}
	fmt.Println("claimed")
	waitForParent()
	return nil // without giving it up
}

// childHold opens the store, appends, and does not close it.
func childHold(path string) error {
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	if _, err := s.Append(context.Background(), one("held", "1", "2")); err != nil {
		return err
	}
	fmt.Println("appended")
	waitForParent()
	return nil
}

// childDoubt makes writes to the log fail in the middle of a commit, with a
// limit on the size of files, and sends the same again without it.
func childDoubt(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return err
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	tight := was
	tight.Cur = uint64(info.Size()) + 5000 // one frame and a part of the next
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &tight); err != nil {
		return err
	}
	appends := []store.Append{{Key: key("a"), Entries: []store.Entry{{ID: "1", Body: make([]byte, 100_000)}}}}
	_, err = s.Append(ctx, appends)
	if !errors.Is(err, store.ErrInDoubt) {
		return fmt.Errorf("append beyond the limit: %v, want in doubt", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	for want := range 2 {
		got, err := s.Append(ctx, appends)
		if err != nil {
			return err
		}
		if p := got.Documents[0].Operations[0]; p.Seq != 1 || p.Position != 1 || want == 1 && !p.Duplicate {
			return fmt.Errorf("sending again, %d: %+v", want, p)
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	fmt.Println("done")
	return nil
}
