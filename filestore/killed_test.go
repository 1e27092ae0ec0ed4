package filestore

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/internal/entry/entrytest"
)

// writerEnv turns the test binary into a writer on the directory it names: see writeForever.
const writerEnv = "PATCHBAY_FILESTORE_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		writeForever(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// TestKilledWriters kills writers with SIGKILL. Every value that they acknowledged must be stored,
// and no value may be incomplete. The next change removes their temporary files and counts the
// plugin's usage again.
func TestKilledWriters(t *testing.T) {
	const rounds, acks = 8, 20
	dir := t.TempDir()
	b := New(dir).Plugin("writer", patchbay.StorageQuota{}).(*bucket)
	for round := range rounds {
		for key, n := range killAfter(t, dir, acks+round) {
			v, ok, err := b.Get(t.Context(), key)
			if err != nil || !ok {
				t.Fatalf("%.20s: acknowledged, but not stored: %v", key, err)
			}
			if got := checkWhole(t, v); got < n {
				t.Errorf("%.20s: %d was acknowledged, %d is stored", key, n, got)
			}
		}
		entrytest.Put(t, b, "key1", string(whole(0))) // the next change
		for _, key := range entrytest.List(t, b, "") {
			if v, _, err := b.Get(t.Context(), key); err != nil {
				t.Errorf("%.20s: torn: %v", key, err)
			} else {
				checkWhole(t, v)
			}
		}
		wantInOrder(t, b)
	}
}

// TestALeftoverIsRemoved: the next change removes the temporary file of a writer that was killed
// before the rename.
func TestALeftoverIsRemoved(t *testing.T) {
	b := New(t.TempDir()).Plugin("writer", patchbay.StorageQuota{}).(*bucket)
	entrytest.Put(t, b, "key1", "1")
	dir := filepath.Join(b.store, dirName(b.plugin))
	write(t, filepath.Join(dir, lockName), "")
	write(t, filepath.Join(dir, tempPrefix+"HALF"), `"key1" 0000`)
	entrytest.WantKeys(t, b, "", "key1")
	entrytest.Put(t, b, "key2", "1")
	wantInOrder(t, b)
	entrytest.WantKeys(t, b, "", "key1", "key2")
}

// wantInOrder checks that no temporary file is left, and that the record equals the counted usage.
func wantInOrder(t *testing.T, b *bucket) {
	t.Helper()
	d, err := b.openDir()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if left, _ := filepath.Glob(d.file(tempPrefix + "*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	counted, err := d.count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(d.file(lockName))
	if r, ok := decodeRecord(data); err != nil || !ok || r.Usage != counted {
		t.Errorf("recorded %s, counted %+v, %v", data, counted, err)
	}
}

// TestTwoProcesses reads and writes while two other processes write the same keys.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	first, second := startWriter(t, dir), startWriter(t, dir)
	b := New(dir).Plugin("writer", patchbay.StorageQuota{}).(*bucket)
	for n := range 50 {
		entrytest.Put(t, b, "mine", string(whole(n)))
		for _, key := range entrytest.List(t, b, "") {
			v, ok, err := b.Get(t.Context(), key)
			if err != nil || !ok {
				t.Fatalf("%.20s: %v, %v", key, ok, err)
			}
			checkWhole(t, v)
		}
		if !first.acks.Scan() || !second.acks.Scan() {
			t.Fatal("a writer died")
		}
	}
	first.end(t)
	second.end(t)
	entrytest.Put(t, b, "mine", "1")
	wantInOrder(t, b)
}

// writeForever is the writer: it puts values under a few keys, one of them long, and acknowledges
// each on stdout after Put has returned. It ends when it is killed, or when stdout is closed.
func writeForever(dir string) {
	b := New(dir).Plugin("writer", patchbay.StorageQuota{})
	for n := 1; ; n++ {
		key := fmt.Sprint("key", n%3)
		if n%3 == 0 {
			key = strings.Repeat("k", 300)
		}
		if err := b.Put(context.Background(), key, whole(n)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if _, err := fmt.Println(key, n); err != nil {
			os.Exit(0)
		}
	}
}

// whole returns a value of several pages, which shows whether a part of it is missing.
func whole(n int) json.RawMessage {
	return fmt.Appendf(nil, `{"n":%d,"pad":"%s"}`, n, strings.Repeat("x", 10_000+n))
}

func checkWhole(t *testing.T, v json.RawMessage) int {
	t.Helper()
	var r struct{ N int }
	if err := json.Unmarshal(v, &r); err != nil || string(v) != string(whole(r.N)) {
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
	w := &writer{cmd: cmd, acks: bufio.NewScanner(out)}
	t.Cleanup(func() { // no test leaves a process behind; both calls fail if it has ended already
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return w
}

// end kills a writer with SIGKILL, reads its last acknowledgements and waits for it.
func (w *writer) end(t *testing.T) {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for w.acks.Scan() {
	}
	if err := w.cmd.Wait(); err == nil {
		t.Fatal("the writer ended before it was killed")
	}
}

// killAfter starts a writer and kills it after that many acknowledged puts, during a later one. It
// returns the last number that the writer acknowledged for each key.
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
			time.Sleep(time.Duration(puts%8) * 300 * time.Microsecond) // so that each round kills at another step of a Put
			if err := w.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.cmd.Wait(); err == nil || len(acked) == 0 {
		t.Fatalf("the writer was not killed while it wrote: %v, %d acknowledged", err, len(acked))
	}
	return acked
}
