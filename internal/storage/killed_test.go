package storage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// writerEnv turns the test binary into a writer on the directory it names; see writeForever.
const writerEnv = "PATCHBAY_STORAGE_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		writeForever(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// TestKilledWriter kills writers without warning: what they had acknowledged must be there, and nothing half done.
func TestKilledWriter(t *testing.T) {
	const rounds, acks = 8, 20
	dir := t.TempDir()
	b := Open(dir).Plugin("writer")
	for round := range rounds {
		acked := killAfter(t, dir, acks+round)
		for key, n := range acked {
			v, ok, err := b.Get(t.Context(), key)
			if err != nil || !ok {
				t.Fatalf("%s: acknowledged and gone: %v", key, err)
			}
			if got := checkRecord(t, v); got < n {
				t.Errorf("%s: %d was acknowledged, %d is stored", key, n, got)
			}
		}
		for _, key := range list(t, b, "") {
			if v, _, err := b.Get(t.Context(), key); err != nil {
				t.Errorf("%s: torn: %v", key, err)
			} else {
				checkRecord(t, v)
			}
		}
	}
}

// TestReadersNeverSeeHalf reads while two processes write the same keys.
func TestReadersNeverSeeHalf(t *testing.T) {
	dir := t.TempDir()
	first, second := startWriter(t, dir), startWriter(t, dir)
	b := Open(dir).Plugin("writer")
	for range 100 {
		for _, key := range list(t, b, "") {
			v, ok, err := b.Get(t.Context(), key)
			if err != nil || !ok {
				t.Fatalf("%s: %v, %v", key, ok, err)
			}
			checkRecord(t, v)
		}
		if !first.acks.Scan() || !second.acks.Scan() {
			t.Fatal("a writer died")
		}
	}
}

// writeForever is the writer: it puts records under a few keys, one of them long, and acknowledges each on stdout
// after Put has returned. It ends when it is killed, or when nobody listens any more.
func writeForever(dir string) {
	b := Open(dir).Plugin("writer")
	for n := 1; ; n++ {
		key := fmt.Sprint("key", n%3)
		if n%3 == 0 {
			key = strings.Repeat("k", 300)
		}
		if err := b.Put(context.Background(), key, record(n)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if _, err := fmt.Println(key, n); err != nil {
			os.Exit(0)
		}
	}
}

// record is a value that shows whether it is whole, and spans many pages.
func record(n int) json.RawMessage {
	return fmt.Appendf(nil, `{"n":%d,"pad":"%s"}`, n, strings.Repeat("x", 10_000+n))
}

func checkRecord(t *testing.T, v json.RawMessage) int {
	t.Helper()
	var r struct{ N int }
	if err := json.Unmarshal(v, &r); err != nil || string(v) != string(record(r.N)) {
		t.Fatalf("torn: %d bytes, %v", len(v), err)
	}
	return r.N
}

type writer struct {
	cmd  *exec.Cmd
	acks *bufio.Scanner
}

func startWriter(t *testing.T, dir string) *writer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // no test leaves a process behind; whether it had ended before is the test's affair
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &writer{cmd: cmd, acks: bufio.NewScanner(out)}
}

func (w *writer) kill(t *testing.T) {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}

// killAfter lets a writer make that many acknowledged puts, kills it in the middle of the next, and tells what it had
// acknowledged by the time it was dead.
func killAfter(t *testing.T, dir string, puts int) map[string]int {
	t.Helper()
	w := startWriter(t, dir)
	acked := make(map[string]int)
	for i := 0; w.acks.Scan(); i++ {
		var key string
		var n int
		if _, err := fmt.Sscan(w.acks.Text(), &key, &n); err != nil {
			continue // the last line, cut off
		}
		acked[key] = n
		if i == puts {
			w.kill(t)
		}
	}
	if err := w.cmd.Wait(); err == nil || len(acked) == 0 {
		t.Fatalf("the writer was to be killed in mid-loop: %v, %d acknowledged", err, len(acked))
	}
	return acked
}
