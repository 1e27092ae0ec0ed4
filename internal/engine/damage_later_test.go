package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// TestUnchangedBlocksAreNotRead overwrites the blocks of a stream, and keeps only their sizes and
// times. The start does not notice.
func TestUnchangedBlocksAreNotRead(t *testing.T) {
	dir := t.TempDir()
	manyBlocks(t, dir)
	for n := 1; n <= 3; n++ {
		quietly(t, dir, blockPath(dir, "patchbay_stream_large", n), func(data []byte) { clear(data) })
	}
	wantUnread(t, dir)
}

// wantUnread checks that the start does not read the three blocks of a stream.
func wantUnread(t *testing.T, dir string) *blocks.Unread {
	t.Helper()
	report, unread, err := blocks.Open(dir, blocks.Options{Now: time.Now(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil || report != nil || unread.Len() != 3 {
		t.Fatalf("%+v, %d blocks, %v", report, unread.Len(), err)
	}
	return unread
}

// TestUnchangedBlocksAreChecked damages a message, and keeps size and times of the file. The damage
// is found while the engine runs.
func TestUnchangedBlocksAreChecked(t *testing.T) {
	for _, k := range keptKinds() {
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, k)
			harmed := quietly(t, dir, blockPath(dir, k.stream, 1), func(data []byte) { data[9*len(data)/wrote+200] ^= 0xff })

			e := open(t, Options{Dir: dir})
			reports := awaitDamage(t, e)
			if len(reports) != 1 || len(reports[0].Findings) != 1 || !reports[0].Running {
				t.Fatalf("reports: %+v; want one that was made while the server ran", reports)
			}
			f := reports[0].Findings[0]
			if f.Kind != blocks.Damaged || f.Whole != wrote-1 || f.Cut != wrote-10 || f.Lost != 1 {
				t.Errorf("found %s", f)
			}
			if !slices.Equal(readFile(t, f.Kept), harmed) {
				t.Error("the block is not kept aside as it was found")
			}
			wantMessages(t, k.read(t, e), []int{10})
			closeEngine(t, e)
		})
	}
}

// TestDamageWhileRunning damages a block under a running engine. Every reader gets all undamaged
// messages.
func TestDamageWhileRunning(t *testing.T) {
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	s := openStream(t, e, "large")
	for range 20 { // about eight fill a block of 8 MB
		if _, err := s.Append(t.Context(), Append{Topic: "t", Data: []byte(strings.Repeat("x", 1<<20))}); err != nil {
			t.Fatal(err)
		}
	}
	closeEngine(t, e) // so that none of it is in memory
	e = open(t, Options{Dir: dir})
	path := blockPath(dir, "patchbay_stream_large", 1)
	data := readFile(t, path)
	second := int(binary.LittleEndian.Uint32(data) &^ (1 << 31))
	binary.LittleEndian.PutUint32(data[second:], 7)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(data[second:second+4], int64(second)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	records, err := openStream(t, e, "large").Read(t.Context(), "t", 0, 0)
	if err != nil || len(records) != 19 {
		t.Errorf("the read that met the damage: %d records, %v; 19 are whole", len(records), err)
	}
	reports, err := e.Damage()
	if err != nil || len(reports) != 1 || reports[0].Findings[0].Lost != 1 || !slices.Equal(readFile(t, reports[0].Findings[0].Kept), data) {
		t.Errorf("reports: %+v, %v", reports, err)
	}
}

// TestBlockVanishesWhileRunning removes a block under a running engine. It is reported, and other
// blocks can be read.
func TestBlockVanishesWhileRunning(t *testing.T) {
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	s := openStream(t, e, "large")
	for range 20 {
		if _, err := s.Append(t.Context(), Append{Topic: "t", Data: []byte(strings.Repeat("x", 1<<20))}); err != nil {
			t.Fatal(err)
		}
	}
	closeEngine(t, e) // so that none of it is in memory
	e = open(t, Options{Dir: dir})
	if err := os.Remove(blockPath(dir, "patchbay_stream_large", 1)); err != nil {
		t.Fatal(err)
	}
	s = openStream(t, e, "large")
	left := 0
	eventually.True(t, "the other blocks can be read", func() bool {
		records, err := s.Read(t.Context(), "t", 0, 0)
		left = len(records)
		return err == nil && left > 0 && left < 20
	})
	// The server reported it when it read the block, and the check before the next server reported
	// it with the count.
	reports, err := e.Damage()
	if err != nil || len(reports) != 2 || reports[0].Findings[0].Kind != blocks.Missing {
		t.Fatalf("reports: %+v, %v", reports, err)
	}
	if f := reports[1].Findings[0]; f.Kind != blocks.Missing || f.Block != 1 || f.Lost != 20-left {
		t.Errorf("%s; %d of 20 messages can be read", f, left)
	}
}

// TestDamageAfterACrash damages a block after kill -9, when the index is outdated and there is no
// seal.
func TestDamageAfterACrash(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "append", dir)
	c.awaitAcks(40)
	c.kill()
	path := blockPath(dir, "patchbay_stream_records", 1)
	data := readFile(t, path)
	for i := range 8 {
		data[len(data)/10+i] ^= 0xff
	}
	writeFile(t, path, data)

	e := open(t, Options{Dir: dir})
	records, err := openStream(t, e, "records").Read(t.Context(), "t", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	there := make(map[string]bool)
	for _, r := range records {
		there[string(r.Data)] = true
	}
	missing := 0
	for data := range c.acked {
		if !there[data] {
			missing++
		}
	}
	reports, err := e.Damage()
	if err != nil || len(reports) != 1 {
		t.Fatalf("reports: %+v, %v", reports, err)
	}
	_, lost, _ := reports[0].Totals()
	if missing != lost || lost < 1 || lost > 2 {
		t.Errorf("%d acknowledged records are missing, %d are reported as lost; eight bytes belong to one or two records", missing, lost)
	}
}

// TestTornTailIsNoDamage checks that a write that was interrupted by the end of the process is not
// reported: it was never acknowledged.
func TestTornTailIsNoDamage(t *testing.T) {
	k := keptKinds()[0]
	dir := t.TempDir()
	fill(t, dir, k)
	if err := blocks.Unseal(dir); err != nil { // as after kill -9
		t.Fatal(err)
	}
	path := blockPath(dir, k.stream, 1)
	data := readFile(t, path)
	writeFile(t, path, append(data, data[:len(data)/wrote/2]...))
	e := open(t, Options{Dir: dir})
	wantMessages(t, k.read(t, e), nil)
	if reports, err := e.Damage(); err != nil || len(reports) != 0 {
		t.Errorf("reports: %+v, %v", reports, err)
	}
}

// TestDamagedBlockWithoutIndex checks that damage is reported and undamaged messages are recovered
// also without the server's index. The number of lost messages is then a lower bound.
func TestDamagedBlockWithoutIndex(t *testing.T) {
	k := keptKinds()[0]
	for _, h := range harms() {
		t.Run(h.name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, k)
			path := blockPath(dir, k.stream, 1)
			lost, _ := h.do(t, path)
			if err := os.Remove(filepath.Join(filepath.Dir(path), "index.db")); err != nil {
				t.Fatal(err)
			}
			e := open(t, Options{Dir: dir})
			wantMessages(t, k.read(t, e), lost)
			reports, err := e.Damage()
			if err != nil || len(reports) != 1 || len(reports[0].Findings) != 1 {
				t.Fatalf("reports: %+v, %v", reports, err)
			}
			if f := reports[0].Findings[0]; f.Lost < 1 || f.Lost > len(lost) || f.Whole != wrote-len(lost) {
				t.Errorf("%s; %d are lost", f, len(lost))
			}
		})
	}
}

// TestNoOldValueComesBack checks that an older value of a key does not come back if its last value
// is lost.
func TestNoOldValueComesBack(t *testing.T) {
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	b := openBucket(t, e, BucketConfig{Name: "sessions"})
	put := func(key string, i int) {
		if _, err := b.Put(t.Context(), key, storedData(i)); err != nil {
			t.Fatal(err)
		}
	}
	put("other", 0)
	for i := range 4 {
		put("again", i)
	}
	put("third", 0)
	closeEngine(t, e)
	path := blockPath(dir, "patchbay_bucket_sessions", 1)
	data := readFile(t, path)
	data[len(data)*9/12] ^= 0xff // in the fifth of six records, the last value of the key
	writeFile(t, path, data)

	e = open(t, Options{Dir: dir})
	b = openBucket(t, e, BucketConfig{Name: "sessions"})
	if v, err := b.Get(t.Context(), "again"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an old value is back: %.20q, revision %d, %v", v.Data, v.Revision, err)
	}
	for _, key := range []string{"other", "third"} {
		if _, err := b.Get(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	reports, err := e.Damage()
	if err != nil || len(reports) != 1 {
		t.Fatalf("reports: %+v, %v", reports, err)
	}
	if f := reports[0].Findings[0]; f.Whole != 2 || f.Lost != 1 {
		t.Errorf("%s; want 2 whole, 1 lost", f)
	}
}

// TestMissingMiddleBlock checks that other blocks are not changed, and that deleted messages stay
// deleted.
func TestMissingMiddleBlock(t *testing.T) {
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	s := openStream(t, e, "large")
	for range 20 { // about eight fill a block of 8 MB
		if _, err := s.Append(t.Context(), Append{Topic: "t", Data: []byte(strings.Repeat("x", 1<<20))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Append(t.Context(), Append{Topic: "deleted", Data: []byte("y")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	closeEngine(t, e)
	if err := os.Remove(blockPath(dir, "patchbay_stream_large", 2)); err != nil {
		t.Fatal(err)
	}

	e = open(t, Options{Dir: dir})
	reports, err := e.Damage()
	if err != nil || len(reports) != 1 || len(reports[0].Findings) != 1 {
		t.Fatalf("reports: %+v, %v", reports, err)
	}
	f := reports[0].Findings[0]
	records, err := openStream(t, e, "large").Read(t.Context(), "t", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if f.Kind != blocks.Missing || f.Block != 2 || f.Lost < 5 || len(records) != 20-f.Lost {
		t.Errorf("%s; %d records can be read", f, len(records))
	}
	if gone, err := openStream(t, e, "large").Read(t.Context(), "deleted", 0, 0); err != nil || len(gone) != 0 {
		t.Errorf("a deleted message is back: %d, %v", len(gone), err)
	}
}

// TestDamagedSettings checks that a stream with damaged settings loses no message, and that the
// damage is reported and can be repaired.
func TestDamagedSettings(t *testing.T) {
	for _, name := range []string{"meta.inf", "meta.sum"} {
		for _, repair := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, repair %t", name, repair), func(t *testing.T) {
				k := keptKinds()[0]
				dir := t.TempDir()
				fill(t, dir, k)
				path := filepath.Join(filepath.Dir(filepath.Dir(blockPath(dir, k.stream, 1))), name)
				data := readFile(t, path)
				data[5] ^= 0xff
				writeFile(t, path, data)
				log := slog.New(slog.DiscardHandler)
				if c, err := Check(dir, true, log); err != nil || c.OK() || c.Read.Findings[0].Kind != blocks.Settings {
					t.Errorf("check: %+v, %v", c, err)
				}
				if _, err := Backup(t.Context(), dir, filepath.Join(t.TempDir(), "b")); err == nil || !strings.Contains(err.Error(), "patchbay engine repair") {
					t.Errorf("a backup of damaged settings: %v", err)
				}
				if repair {
					if _, err := Repair(t.Context(), dir, log); err != nil {
						t.Fatal(err)
					}
					dir = restored(t, dir)
				}
				for range 2 {
					e := open(t, Options{Dir: dir})
					wantMessages(t, k.read(t, e), nil)
					if reports, err := e.Damage(); err != nil || (len(reports) == 0) != repair {
						t.Errorf("reports: %+v, %v", reports, err)
					}
					closeEngine(t, e)
				}
				if _, err := Backup(t.Context(), dir, filepath.Join(t.TempDir(), "b")); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// restored makes a backup of a store, and restores it in another directory.
func restored(t *testing.T, dir string) string {
	t.Helper()
	file, to := filepath.Join(t.TempDir(), "b"), t.TempDir()
	if _, err := Backup(t.Context(), dir, file); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), to, file, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestDamagedConsumer: damaged files of a queue's consumer cost no item, whether or not the queue
// has changed since the last clean stop, and whether `engine repair` or the next start finds them.
func TestDamagedConsumer(t *testing.T) {
	for harm, change := range map[string]func([]byte) []byte{
		"cut in half":      func(data []byte) []byte { return data[:len(data)/2] },
		"another kind":     func(data []byte) []byte { data[0] ^= 0xff; return data },
		"more at the end":  func(data []byte) []byte { return append(data, 0) },
		"a huge count":     func([]byte) []byte { return append([]byte{22, 2, 0, 0, 1, 1, 0}, binary.AppendUvarint(nil, 1<<62)...) },
		"removed":          nil,
		"nothing is wrong": func(data []byte) []byte { return data },
	} {
		for _, name := range []string{"o.dat", "meta.inf", "meta.sum"} {
			for _, repair := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, repair %t", name, harm, repair), func(t *testing.T) {
					dir := t.TempDir()
					e := open(t, Options{Dir: dir})
					q := openQueue(t, e, QueueConfig{Name: "jobs"})
					for _, id := range []string{"1", "2", "3"} {
						putItem(t, q, Item{ID: id, Data: []byte(id)})
					}
					if err := takeJob(t, q).Ack(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := takeJob(t, q).Nak(t.Context(), 0); err != nil { // so that it comes again
						t.Fatal(err)
					}
					closeEngine(t, e)
					path := filepath.Join(dir, "jetstream", "$G", "streams", "patchbay_queue_jobs", "obs", workers, name)
					whole := readFile(t, path)
					if change == nil {
						if err := os.Remove(path); err != nil {
							t.Fatal(err)
						}
					} else {
						writeFile(t, path, change(slices.Clone(whole)))
					}
					log := slog.New(slog.DiscardHandler)
					harmless := harm == "nothing is wrong" || harm == "removed" && name == "o.dat"
					if c, err := Check(dir, true, log); err != nil || c.OK() != harmless || !harmless && c.Read.Findings[0].Kind != blocks.Consumer {
						t.Errorf("check: %+v, %v", c, err)
					}
					if repair {
						if _, err := Repair(t.Context(), dir, log); err != nil {
							t.Fatal(err)
						}
						dir = restored(t, dir)
					}
					e = open(t, Options{Dir: dir})
					q = openQueue(t, e, QueueConfig{Name: "jobs"})
					got := []string{}
					for range 2 {
						j := takeJob(t, q)
						got = append(got, string(j.Data))
						if err := j.Ack(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					if slices.Sort(got); !slices.Equal(got, []string{"2", "3"}) {
						t.Errorf("the items are %v", got)
					}
					awaitEmpty(t, q)
					if reports, err := e.Damage(); err != nil || (len(reports) == 0) != (repair || harmless) {
						t.Errorf("reports: %+v, %v", reports, err)
					}
					closeEngine(t, e)
					restored(t, dir)
				})
			}
		}
	}
}
