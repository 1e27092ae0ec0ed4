package cli

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// TestLogFile: at its limit a new log begins, the old one is kept, and a reader that follows the
// log misses no line.
func TestLogFile(t *testing.T) {
	dir := t.TempDir()
	l, err := openLogFile(dir, "serve.log")
	if err != nil {
		t.Fatal(err)
	}
	write := func(line string) {
		t.Helper()
		if _, err := l.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	write("second")
	lines := make(chan string, 16)
	r := &logReader{path: l.path, each: func(line string) error { lines <- line; return nil }}
	defer r.close()
	if err := r.last(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.follow(ctx) }()
	want := func(text string) {
		t.Helper()
		select {
		case got := <-lines:
			if got != text {
				t.Errorf("got %.20q, want %.20q", got, text)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%.20q did not come", text)
		}
	}
	want("second")
	long := strings.Repeat("x", maxLogFile-100)
	write(long)
	want(long)
	write(strings.Repeat("y", 200)) // too large for the old file
	want(strings.Repeat("y", 200))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	old, err := os.Stat(l.path + ".1")
	if err != nil || old.Size() < maxLogFile-100 || old.Mode().Perm() != 0o600 {
		t.Errorf("%+v, %v", old, err)
	}
}
