package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	for line, want := range map[string]string{
		"":                                    "",
		"-rooms a":                            "",
		"-rooms a,b,c9-x":                     "",
		"-writers 0":                          "1 to 64",
		"-writers 65":                         "1 to 64",
		"-writers x":                          "invalid value",
		"-rooms a,,b":                         `""`,
		"-rooms a,b,a":                        "twice",
		"-rooms A":                            "a-z",
		"-rooms " + strings.Repeat("a", 33):   "1 to 32",
		"-rooms a" + strings.Repeat(",a", 16): "1 to 16",
		"-db=":                                "-db is empty",
		"chat.db":                             "flags only",
		"-nothing":                            "not defined",
	} {
		var stderr bytes.Buffer
		_, err := parseOptions(strings.Fields(line), &stderr)
		if (err != nil) != (want != "") || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: %v, stderr %q", line, err, stderr.String())
		}
	}
}

func TestExitStatuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   string
		status int
		want   string
	}{
		{"-help", exitOK, "-writers"},
		{"-writers 0", exitInput, "1 to 64"},
		{"-db " + text, exitFailed, text},
		{"-db " + filepath.Join(folder, "a.db") + " -addr " + taken.Addr().String(), exitFailed, "address already in use"},
	} {
		var stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(test.args), io.Discard, &stderr); status != test.status || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: status %d, stderr %q", test.args, status, stderr.String())
		}
	}
	for _, args := range [][]string{nil, {"a", "b"}} {
		if status := runWriter(context.Background(), args, strings.NewReader(""), io.Discard, io.Discard); status != exitInput {
			t.Errorf("a writer with %q: status %d", args, status)
		}
	}
	var stderr bytes.Buffer
	if status := runWriter(context.Background(), []string{text}, strings.NewReader(""), io.Discard, &stderr); status != exitFailed || stderr.Len() == 0 {
		t.Errorf("a writer of a text: status %d, stderr %q", status, stderr.String())
	}
}
