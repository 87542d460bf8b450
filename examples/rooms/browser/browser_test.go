package browser

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestTwoTabs posts in one tab and sees it in the other, takes the server away and
// brings it back, and goes on from the token that the page has.
func TestTwoTabs(t *testing.T) {
	chromium := browser(t)
	folder := t.TempDir()
	rooms := build(t, folder)
	db := filepath.Join(folder, "chat.db")
	s := start(t, rooms, db, "127.0.0.1:0")

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // root has none
	}
	all, end := chromedp.NewExecAllocator(t.Context(), options...)
	defer end()
	first, closeFirst := chromedp.NewContext(all)
	defer closeFirst()
	ada := open(t, first, s.url)
	second, closeSecond := chromedp.NewContext(first)
	defer closeSecond()
	bob := open(t, second, s.url)

	ada.write("#name", "Ada")
	bob.write("#name", "Bob")
	ada.say("lobby", "hello")
	bob.sees("lobby", "Ada: hello")
	bob.say("workshop", "over here")
	ada.sees("workshop", "Bob: over here")
	ada.sees("lobby", "Ada: hello")

	const attack = `<img src=x onerror="hacked = 1"><b>bold</b>`
	ada.say("lobby", attack)
	bob.sees("lobby", "Ada: hello", "Ada: "+attack)
	for _, tab := range []*tab{ada, bob} {
		tab.is(`document.querySelectorAll("ol img, ol b b").length === 0 && typeof hacked === "undefined"`)
	}

	// What is there now must neither be drawn again nor lost.
	bob.is(`document.querySelectorAll("ol li").forEach((li) => { li.old = true }) ?? true`)
	s.stop()
	bob.becomes(`document.querySelector("#state").textContent.startsWith("connection lost")`)
	ada.say("lobby", "is anybody there?")
	ada.becomes(`document.querySelector("[data-room=lobby] .problem").textContent !== ""`)
	bob.is(`performance.clearResourceTimings() ?? true`)

	s = start(t, rooms, db, s.address)
	bob.sees("lobby", "Ada: hello", "Ada: "+attack, "Ada: is anybody there?")
	ada.sees("lobby", "Ada: hello", "Ada: "+attack, "Ada: is anybody there?")
	bob.say("lobby", "yes")
	ada.sees("lobby", "Ada: hello", "Ada: "+attack, "Ada: is anybody there?", "Bob: yes")
	bob.becomes(`document.querySelector("#state").textContent === "live"`)
	bob.is(`Array.from(document.querySelectorAll("ol li"), (li) => Boolean(li.old)).join() === "true,true,false,false,true"`)
	bob.is(`performance.getEntriesByType("resource").filter((e) => e.name.includes("/sync?")).map((e) => new URL(e.name).searchParams.get("since") !== "").reduce((a, b) => a && b)`)

	// Who loads the page anew sees the same.
	if err := chromedp.Do(bob.ctx, chromedp.Navigate(s.url)); err != nil {
		t.Fatal(err)
	}
	bob.sees("lobby", "Ada: hello", "Ada: "+attack, "Ada: is anybody there?", "Bob: yes")
	bob.sees("workshop", "Bob: over here")
}

// tab is a page that was loaded.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func open(t *testing.T, ctx context.Context, url string) *tab {
	t.Helper()
	if err := chromedp.Do(ctx); err != nil { // starts the browser
		t.Fatal(err)
	}
	tab := &tab{t, ctx}
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	tab.becomes(`document.querySelector("#state").textContent === "live"`)
	return tab
}

func (tab *tab) write(selector, text string) {
	tab.t.Helper()
	// Two tabs share what they remember.
	tab.is(fmt.Sprintf(`(document.querySelector(%q).value = "") === ""`, selector))
	if err := chromedp.Do(tab.ctx, chromedp.SendKeys(chromedp.CSS(selector), text)); err != nil {
		tab.t.Fatal(err)
	}
}

// say sends a message with the form of a room.
func (tab *tab) say(room, text string) {
	tab.t.Helper()
	tab.write("#text-"+room, text)
	if err := chromedp.Do(tab.ctx, chromedp.Click(chromedp.CSS("[data-room="+room+"] button"))); err != nil {
		tab.t.Fatal(err)
	}
}

// sees waits until a room shows these lines, and no others.
func (tab *tab) sees(room string, lines ...string) {
	tab.t.Helper()
	var quoted []string
	for _, line := range lines {
		quoted = append(quoted, fmt.Sprintf("%q", line))
	}
	tab.becomes(fmt.Sprintf(
		`JSON.stringify(Array.from(document.querySelectorAll("[data-room=%s] li"), (li) => li.children[1].textContent + ": " + li.lastChild.textContent)) === JSON.stringify([%s])`,
		room, strings.Join(quoted, ",")))
}

func (tab *tab) is(expression string) {
	tab.t.Helper()
	if ok, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool](expression)); err != nil || !ok {
		tab.fail(expression, err)
	}
}

// becomes waits until an expression is true.
func (tab *tab) becomes(expression string) {
	tab.t.Helper()
	wait := chromedp.Poll[bool](expression, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(time.Minute))
	if _, err := chromedp.Run(tab.ctx, wait); err != nil {
		tab.fail(expression, err)
	}
}

func (tab *tab) fail(expression string, err error) {
	tab.t.Helper()
	text, _ := chromedp.Run(tab.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	tab.t.Fatalf("%v: not so: %s\nthe page shows\n%s", err, expression, text)
}

// server is the program.
type server struct {
	url, address string
	cmd          *exec.Cmd
	stop         func()
}

func start(t *testing.T, program, db, address string) *server {
	t.Helper()
	s := &server{cmd: exec.Command(program, "-db", db, "-addr", address)}
	var stderr bytes.Buffer
	s.cmd.Stderr = &stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.stop = func() {
		if s.cmd.ProcessState != nil {
			return
		}
		s.cmd.Process.Signal(os.Interrupt)
		if err := s.cmd.Wait(); err != nil || stderr.Len() > 0 {
			t.Errorf("the server ended with %v, stderr:\n%s", err, stderr.String())
		}
	}
	t.Cleanup(s.stop)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s.url = strings.TrimSpace(strings.TrimPrefix(line, "rooms: "))
	s.address = strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/")
	return s
}

// build compiles the program.
func build(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(folder, "rooms.exe")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// browser finds a Chromium, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("none of %q is installed", names)
	return ""
}
