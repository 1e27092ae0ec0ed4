package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// wrote is how many messages each kind of stream gets. All have the same size, so the offset of a
// byte tells which message it belongs to.
const wrote = 60

// A kept is a kind of stored data: how it is written and read.
type kept struct {
	name   string
	stream string // the server's name
	write  func(t *testing.T, e *Engine, from, to int)
	read   func(t *testing.T, e *Engine) map[int]bool
}

func storedData(i int) []byte {
	return fmt.Appendf(nil, "%04d %s", i, strings.Repeat("data ", 60))
}

func keptKinds() []kept {
	return []kept{
		{"transcript", "patchbay_stream_transcripts", func(t *testing.T, e *Engine, from, to int) {
			s := openStream(t, e, "transcripts")
			for i := from; i <= to; i++ {
				if _, err := s.Append(t.Context(), Append{Topic: "session", Data: storedData(i)}); err != nil {
					t.Fatal(err)
				}
			}
		}, func(t *testing.T, e *Engine) map[int]bool {
			records, err := openStream(t, e, "transcripts").Read(t.Context(), "session", 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			out := make(map[int]bool)
			for _, r := range records {
				if !bytes.Equal(r.Data, storedData(int(r.Sequence))) {
					t.Errorf("record %d has other data: %.20q", r.Sequence, r.Data)
				}
				out[int(r.Sequence)] = true
			}
			return out
		}},
		{"bucket", "patchbay_bucket_sessions", func(t *testing.T, e *Engine, from, to int) {
			b := openBucket(t, e, BucketConfig{Name: "sessions"})
			for i := from; i <= to; i++ {
				if _, err := b.Put(t.Context(), fmt.Sprintf("key%04d", i), storedData(i)); err != nil {
					t.Fatal(err)
				}
			}
		}, func(t *testing.T, e *Engine) map[int]bool {
			values, err := openBucket(t, e, BucketConfig{Name: "sessions"}).Values(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			out := make(map[int]bool)
			for _, v := range values {
				if !bytes.Equal(v.Data, storedData(int(v.Revision))) || v.Key != fmt.Sprintf("key%04d", v.Revision) {
					t.Errorf("%s has other data: %.20q", v.Key, v.Data)
				}
				out[int(v.Revision)] = true
			}
			return out
		}},
	}
}

func blockPath(dir, stream string, n int) string {
	return filepath.Join(dir, "jetstream", "$G", "streams", stream, "msgs", fmt.Sprintf("%d.blk", n))
}

// A damageCase damages a block while no engine runs. It returns which messages are lost.
type damageCase struct {
	name string
	kind blocks.Kind
	do   func(t *testing.T, path string) (lost []int, cut int)
}

func flipAt(percent int) damageCase {
	return damageCase{fmt.Sprintf("flipped at %d %%", percent), blocks.Damaged, func(t *testing.T, path string) ([]int, int) {
		data := readFile(t, path)
		at := len(data) * percent / 100
		for i := range 8 {
			data[at+i] ^= 0xff
		}
		writeFile(t, path, data)
		size := len(data) / wrote
		first, last := at/size+1, (at+7)/size+1
		lost := []int{first}
		if last != first {
			lost = append(lost, last)
		}
		return lost, wrote - last
	}}
}

func harms() []damageCase {
	return []damageCase{flipAt(0), flipAt(10), flipAt(50), flipAt(90),
		{"emptied", blocks.Emptied, func(t *testing.T, path string) ([]int, int) {
			writeFile(t, path, nil)
			return upTo(1, wrote), 0
		}},
		{"missing", blocks.Missing, func(t *testing.T, path string) ([]int, int) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return upTo(1, wrote), 0
		}},
		{"truncated", blocks.Truncated, func(t *testing.T, path string) ([]int, int) {
			data := readFile(t, path)
			writeFile(t, path, data[:len(data)*2/3+7])
			return upTo(wrote*2/3+1, wrote), 0
		}},
		{"truncated between two records", blocks.Truncated, func(t *testing.T, path string) ([]int, int) {
			data := readFile(t, path)
			if len(data)%wrote != 0 {
				t.Fatalf("%d bytes: the records are not of the same size", len(data))
			}
			writeFile(t, path, data[:len(data)/2])
			return upTo(wrote/2+1, wrote), 0
		}},
	}
}

func upTo(from, to int) []int {
	var out []int
	for i := from; i <= to; i++ {
		out = append(out, i)
	}
	return out
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedBlock damages the block of a transcript and of a bucket in every way. The damage is
// reported with counts, the block is copied, every undamaged message can be read, and the next
// message gets a number that no lost message had.
func TestDamagedBlock(t *testing.T) {
	for i, h := range harms() {
		for j, k := range keptKinds() {
			if !soak.Pair(i, j, 2) {
				continue
			}
			t.Run(k.name+" "+h.name, func(t *testing.T) { testDamagedBlock(t, k, h) })
		}
	}
}

func testDamagedBlock(t *testing.T, k kept, h damageCase) {
	dir := t.TempDir()
	fill(t, dir, k)
	path := blockPath(dir, k.stream, 1)
	lost, cut := h.do(t, path)
	var harmed []byte
	if h.kind == blocks.Damaged || h.kind == blocks.Truncated {
		harmed = readFile(t, path)
	}

	var log bytes.Buffer
	e := open(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	wantMessages(t, k.read(t, e), lost)
	reports, err := e.Damage()
	if err != nil || len(reports) != 1 || len(reports[0].Findings) != 1 {
		t.Fatalf("reports: %+v, %v", reports, err)
	}
	f := reports[0].Findings[0]
	want := blocks.Finding{Stream: k.stream, Block: 1, Kind: h.kind, Whole: wrote - len(lost), Cut: cut, Lost: len(lost)}
	if f.Stream != want.Stream || f.Block != want.Block || f.Kind != want.Kind || f.Whole != want.Whole || f.Cut != want.Cut || f.Lost != want.Lost {
		t.Errorf("found %s\nwant  %s", f, want)
	}
	if whole := fmt.Sprintf("whole=%d lost=%d", want.Whole, want.Lost); !strings.Contains(log.String(), whole) {
		t.Errorf("the log does not say %q: %s", whole, &log)
	}
	if harmed != nil && (f.Kept == "" || !bytes.Equal(readFile(t, f.Kept), harmed)) {
		t.Errorf("the block is not kept aside as it was found: %q", f.Kept)
	}
	k.write(t, e, wrote+1, wrote+1)
	if got := k.read(t, e); !got[wrote+1] {
		t.Error("the data that was written afterwards is not stored")
	}
	closeEngine(t, e)

	again := open(t, Options{Dir: dir})
	got := k.read(t, again)
	delete(got, wrote+1)
	wantMessages(t, got, lost)
	if reports, err := again.Damage(); err != nil || len(reports) != 1 {
		t.Errorf("a second start: %+v, %v; want the one report of the first", reports, err)
	}
}

// fill writes messages and stops the engine.
func fill(t *testing.T, dir string, k kept) {
	t.Helper()
	e, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	k.write(t, e, 1, wrote)
	closeEngine(t, e)
}

func closeEngine(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantMessages checks that all messages are there but the lost ones.
func wantMessages(t *testing.T, got map[int]bool, lost []int) {
	t.Helper()
	gone := make(map[int]bool)
	for _, i := range lost {
		gone[i] = true
	}
	for i := 1; i <= wrote; i++ {
		if got[i] == gone[i] {
			t.Errorf("message %d: there is %t, lost is %t", i, got[i], gone[i])
		}
	}
	if len(got) != wrote-len(lost) {
		t.Errorf("%d messages, want %d", len(got), wrote-len(lost))
	}
}
