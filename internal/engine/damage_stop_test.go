package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
)

// TestHarmedBeforeTheStop damages a block under a running engine. At its clean stop the engine
// records the state of the damaged file. The next start reports the damage nevertheless.
func TestHarmedBeforeTheStop(t *testing.T) {
	for _, h := range harms() {
		t.Run(h.name, func(t *testing.T) {
			k := keptKinds()[0]
			dir := t.TempDir()
			fill(t, dir, k)
			e := open(t, Options{Dir: dir})
			wantMessages(t, k.read(t, e), nil)
			lost, _ := h.do(t, blockPath(dir, k.stream, 1))
			closeEngine(t, e)

			again := open(t, Options{Dir: dir})
			reports := awaitDamage(t, again)
			wantMessages(t, k.read(t, again), lost)
			if i := slices.IndexFunc(reports, func(r Report) bool { return r.Findings[0].Lost == len(lost) }); i < 0 {
				t.Errorf("reports: %+v; %d are lost", reports, len(lost))
			}
		})
	}
}

// TestACopyIsRead checks that the first start on a copy of a store reads it, although sizes and
// times are those of the clean stop. After a clean stop on the copy it is not read again.
func TestACopyIsRead(t *testing.T) {
	filled, dir := t.TempDir(), t.TempDir()
	manyBlocks(t, filled)
	if err := os.CopyFS(dir, os.DirFS(filled)); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		info, err := os.Stat(blockPath(filled, "patchbay_stream_large", n))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(blockPath(dir, "patchbay_stream_large", n), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	_, unread, err := blocks.Open(dir, blocks.Options{})
	if err != nil || unread.Len() != 0 {
		t.Fatalf("%d blocks of the copy are not read, %v", unread.Len(), err)
	}
	closeEngine(t, open(t, Options{Dir: dir}))
	wantUnread(t, dir)
}

// TestIndexNotTrusted makes a server distrust its index, so that it reads every block of the
// stream and would silently cut off a damaged one. Sizes and times of index and block stay the
// same.
func TestIndexNotTrusted(t *testing.T) {
	for _, part := range []string{"index", "last hash"} {
		t.Run(part, func(t *testing.T) {
			dir := t.TempDir()
			manyBlocks(t, dir)
			lost := []int{20}
			if part == "index" {
				lost = nil
				index := filepath.Join(filepath.Dir(blockPath(dir, "patchbay_stream_large", 1)), "index.db")
				quietly(t, dir, index, func(data []byte) { data[len(data)/2] ^= 0xff })
			} else {
				quietly(t, dir, blockPath(dir, "patchbay_stream_large", 3), func(data []byte) { data[len(data)-1] ^= 0xff })
			}
			harmed := make(map[uint32][]byte)
			for _, n := range []int{1, 2} {
				harmed[uint32(n)] = quietly(t, dir, blockPath(dir, "patchbay_stream_large", n), func(data []byte) {
					at := offsets(data)
					lost = append(lost, sequenceAt(data, at[1]))
					data[at[1]+100] ^= 0xff
				})
			}
			e := open(t, Options{Dir: dir})
			found := make(map[uint32]blocks.Finding)
			for _, r := range awaitDamage(t, e) {
				for _, f := range r.Findings {
					found[f.Block] = f
				}
			}
			for n, data := range harmed {
				if f := found[n]; f.Lost != 1 || !slices.Equal(readFile(t, f.Kept), data) {
					t.Errorf("block %d: %s; want 1 lost, and a copy as it was found", n, f)
				}
			}
			records, err := openLarge(t, e).Read(t.Context(), "t", 0, 0)
			if err != nil || len(records) != inBlocks-len(lost) {
				t.Errorf("%s can be read, %v; %v are lost", numbersOf(records), err, lost)
			}
		})
	}
}

func numbersOf(records []Record) string {
	out := make([]uint64, len(records))
	for i, r := range records {
		out[i] = r.Sequence
	}
	return fmt.Sprint(out)
}
