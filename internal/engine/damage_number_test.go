package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// inBlocks is how many messages are written. They fill two blocks and begin a third.
const inBlocks = 20

// openLarge opens the stream of these messages. With such a low limit the server makes blocks as
// small as it can, which is 32 KB.
func openLarge(t *testing.T, e *Engine) Stream {
	t.Helper()
	s, err := e.Stream(t.Context(), StreamConfig{Name: "large", MaxBytes: 120 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// manyBlocks makes a stream of several blocks, and stops its engine.
func manyBlocks(t *testing.T, dir string) {
	t.Helper()
	e := open(t, Options{Dir: dir})
	s := openLarge(t, e)
	for i := range inBlocks {
		if _, err := s.Append(t.Context(), Append{Topic: "t", Data: largeData(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	closeEngine(t, e)
}

// largeSize is the size of a message: about eight fill a block.
const largeSize = 4000

func largeData(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%04d", i), largeSize/4) }

// A way changes the bytes of a block, in a store that was copied from another.
type way struct {
	name string
	do   func(t *testing.T, dir, path string, change func(data []byte)) []byte
}

func ways() []way {
	return []way{
		{"its time set back", func(t *testing.T, dir, path string, change func(data []byte)) []byte {
			sealAgain(t, dir)
			return setBack(t, path, change)
		}},
		{"under an engine that then stops", func(t *testing.T, dir, path string, change func(data []byte)) []byte {
			e := open(t, Options{Dir: dir})
			data := setBack(t, path, change)
			closeEngine(t, e)
			return data
		}},
		{"by a disk", func(t *testing.T, dir, path string, change func(data []byte)) []byte {
			data := quietly(t, dir, path, change)
			checkAll(t, wantUnread(t, dir)) // as while a server runs, but without the server, which could be first
			return data
		}},
	}
}

// quietly changes bytes of a block, as a disk may. Size and times stay those of the clean stop.
func quietly(t *testing.T, dir, path string, change func(data []byte)) []byte {
	t.Helper()
	data := setBack(t, path, change)
	sealAgain(t, dir)
	return data
}

// checkAll checks the blocks that a start has not read.
func checkAll(t *testing.T, unread *blocks.Unread) (found []blocks.Finding) {
	t.Helper()
	unread.ReadIndexes()
	for i := range unread.Len() {
		r, err := unread.Check(i, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if r != nil {
			found = append(found, r.Findings...)
		}
	}
	return found
}

// setBack changes bytes of a file, and sets its time back.
func setBack(t *testing.T, path string, change func(data []byte)) []byte {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data := readFile(t, path)
	change(data)
	writeFile(t, path, data)
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	return data
}

// offsets returns where the records of a block begin.
func offsets(data []byte) []int {
	var out []int
	for at := 0; at < len(data); at += int(binary.LittleEndian.Uint32(data[at:]) &^ (1 << 31)) {
		out = append(out, at)
	}
	return out
}

func sequenceAt(data []byte, at int) int { return int(binary.LittleEndian.Uint64(data[at+4:])) }

// A renumbering changes the sequence number of a record.
type renumbering struct {
	name string
	to   func(sequence uint64) uint64
}

func renumberings() []renumbering {
	return []renumbering{
		{"too low", func(s uint64) uint64 { return s - 1 }},
		{"zero", func(uint64) uint64 { return 0 }},
		{"too high", func(s uint64) uint64 { return s + 2 }},
		{"beyond the block", func(s uint64) uint64 { return s + 1000 }},
		{"wildly high", func(s uint64) uint64 { return s | 1<<60 }},
		{"deleted", func(s uint64) uint64 { return s | 1<<63 }},
		{"deleted and wildly high", func(s uint64) uint64 { return s | 1<<63 | 1<<61 }},
		{"a mark", func(s uint64) uint64 { return s | 1<<62 }},
	}
}

// TestDamagedNumber changes the sequence number of a record. All other messages can be read, and
// the damage is reported with counts and copied.
func TestDamagedNumber(t *testing.T) {
	filled := t.TempDir()
	manyBlocks(t, filled)
	places := []place{{1, "middle"}, {2, "first"}, {2, "middle"}, {2, "last"}, {3, "middle"}}
	for i, r := range renumberings() {
		for j, p := range places {
			if !soak.Pair(i, j, len(places)) {
				continue
			}
			testHarm(t, fmt.Sprintf("%s, %s", p, r.name), filled, p, func(data []byte, from, _ int) {
				number := binary.LittleEndian.Uint64(data[from+4:])
				binary.LittleEndian.PutUint64(data[from+4:], r.to(number))
			})
		}
	}
}

// A place names the record that is damaged.
type place struct {
	block  int
	record string // first, middle or last
}

func (p place) String() string { return fmt.Sprintf("block %d, %s record", p.block, p.record) }

// find returns where the record begins and ends in the data of its block.
func (p place) find(data []byte) (from, to int) {
	at := offsets(data)
	i := map[string]int{"first": 0, "middle": len(at) / 2, "last": len(at) - 1}[p.record]
	return at[i], append(at, len(data))[i+1]
}

// TestDamagedPart changes bytes in every other part of a record.
func TestDamagedPart(t *testing.T) {
	filled := t.TempDir()
	manyBlocks(t, filled)
	parts := []struct {
		name string
		at   int // from its beginning, or if negative from its end
	}{{"length", 0}, {"time", 12}, {"subject length", 20}, {"subject", 24}, {"content", 2000}, {"hash", -4}}
	places := []place{{2, "first"}, {3, "last"}, {2, "last"}, {3, "first"}} // a block in the middle, and the block that is written to
	for i, part := range parts {
		for j, p := range places {
			if !soak.Pair(i, j, len(places)) {
				continue
			}
			testHarm(t, fmt.Sprintf("%s, %s", p, part.name), filled, p, func(data []byte, from, to int) {
				if part.at < 0 {
					from = to
				}
				data[from+part.at] ^= 0xff
			})
		}
	}
}

// testHarm damages the record at a place in every way, and checks the result.
func testHarm(t *testing.T, name, filled string, p place, harm func(data []byte, from, to int)) {
	for _, w := range ways() {
		t.Run(name+", "+w.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filled)); err != nil {
				t.Fatal(err)
			}
			testHarmed(t, filled, dir, p, w, harm)
		})
	}
}

func testHarmed(t *testing.T, filled, dir string, p place, w way, harm func(data []byte, from, to int)) {
	block := p.block
	path, lost := blockPath(dir, "patchbay_stream_large", block), 0
	harmed := w.do(t, dir, path, func(data []byte) {
		from, to := p.find(data)
		lost = sequenceAt(data, from)
		harm(data, from, to)
	})

	var log plugtest.Log
	defer func() {
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	e := open(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	reports := awaitDamage(t, e) // before anything is read
	wantAllBut(t, e, lost)
	if len(reports) != 1 || len(reports[0].Findings) != 1 {
		t.Fatalf("reports: %+v", reports)
	}
	f := reports[0].Findings[0]
	whole := len(offsets(readFile(t, blockPath(filled, "patchbay_stream_large", block)))) - 1
	if f.Kind != blocks.Damaged && f.Kind != blocks.Truncated || int(f.Block) != block || f.Whole != whole || f.Lost != 1 || reports[0].Pending {
		t.Errorf("found %s, pending %t; want %d whole, 1 lost", f, reports[0].Pending, whole)
	}
	if !slices.Equal(readFile(t, f.Kept), harmed) {
		t.Error("the block is not kept aside as it was found")
	}
	// The check while a server runs has its own log, which TestDamageIsReported of internal/daemon
	// looks at.
	if text := log.String(); !reports[0].Running && !strings.Contains(text, fmt.Sprintf("whole=%d lost=1", whole)) {
		t.Errorf("the log does not contain the counts: %s", text)
	}
	closeEngine(t, e)
	wantRepaired(t, dir, lost)
}

// wantAllBut reads until all messages are there. The server may be replaced meanwhile.
func wantAllBut(t *testing.T, e *Engine, lost int) {
	t.Helper()
	s := openLarge(t, e)
	var got []int
	defer func() {
		if t.Failed() {
			t.Logf("%d is lost, can be read: %v", lost, got)
		}
	}()
	eventually.True(t, "all messages but the harmed one can be read", func() bool {
		records, err := s.Read(t.Context(), "t", 0, 0)
		if err != nil {
			return false
		}
		got = got[:0]
		for _, r := range records {
			if !bytes.Equal(r.Data, largeData(int(r.Sequence))) {
				t.Fatalf("record %d has other data", r.Sequence)
			}
			got = append(got, int(r.Sequence))
		}
		return len(got) == inBlocks-1 && !slices.Contains(got, lost)
	})
}

func awaitDamage(t *testing.T, e *Engine) (reports []Report) {
	t.Helper()
	eventually.True(t, "the damage is reported and repaired", func() bool {
		var err error
		if reports, err = e.Damage(); err != nil {
			t.Fatal(err)
		}
		return len(reports) > 0 && !slices.ContainsFunc(reports, func(r Report) bool { return r.Pending || len(r.Findings) == 0 })
	})
	return reports
}

// wantRepaired checks that a check reports the damage until a repair, and nothing after it.
func wantRepaired(t *testing.T, dir string, lost int) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	c, err := Check(dir, false, log)
	if err != nil || c.OK() || len(c.Reports) != 1 || len(c.Read.Findings) != 0 || c.Read.Messages != inBlocks-1 {
		t.Errorf("check: %+v, %v", c, err)
	}
	if r, err := Repair(t.Context(), dir, log); err != nil || r.Found != nil || len(r.Acknowledged) != 1 {
		t.Errorf("repair: %+v, %v", r, err)
	}
	e := open(t, Options{Dir: dir})
	wantAllBut(t, e, lost)
	if reports, err := e.Damage(); err != nil || len(reports) != 0 {
		t.Errorf("after the repair: %+v, %v", reports, err)
	}
}

// sealAgain records the sizes and times of a copied store.
func sealAgain(t *testing.T, dir string) {
	t.Helper()
	if err := blocks.Seal(dir, nil); err != nil {
		t.Fatal(err)
	}
}

// TestTimeSetBack checks that the start reads a file that a program changed, although the program
// set the file's time back.
func TestTimeSetBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not report when a file was changed")
	}
	dir := t.TempDir()
	manyBlocks(t, dir)
	setBack(t, blockPath(dir, "patchbay_stream_large", 2), func(data []byte) { data[len(data)/2] ^= 0xff })
	report, _, err := blocks.Open(dir, blocks.Options{Now: time.Now(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil || report == nil || len(report.Findings) != 1 || report.Findings[0].Lost != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
}

// TestACutBlockIsReported checks that a block is reported with counts if the server finds the
// damage first and silently cuts it off.
func TestACutBlockIsReported(t *testing.T) {
	dir := t.TempDir()
	manyBlocks(t, dir)
	unread := wantUnread(t, dir)
	path := blockPath(dir, "patchbay_stream_large", 2)
	at := offsets(readFile(t, path))
	if err := os.Truncate(path, int64(at[2])); err != nil {
		t.Fatal(err)
	}
	found := checkAll(t, unread)
	if len(found) != 1 || found[0].Kind != blocks.Truncated || found[0].Block != 2 || found[0].Whole != 2 || found[0].Lost != len(at)-2 {
		t.Errorf("found %+v; want 2 whole, %d lost", found, len(at)-2)
	}
}
