package blocks

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Keep copies a block that the server is about to rebuild. The server cuts off the rebuilt block at
// its first damaged record. Keep returns nil if every record of the block is undamaged, or if this
// damage is already reported.
//
// The server waits meanwhile with the block locked, so the file does not change while it is read.
func Keep(dir, path string, now time.Time) (*Report, error) {
	return keepWithIndex(dir, path, now, nil)
}

// keepWithIndex does what Keep does. With the index x, which may be nil, the counts are exact.
func keepWithIndex(dir, path string, now time.Time, x *index) (*Report, error) {
	p, number, err := blockAt(dir, path)
	if err != nil {
		return nil, err
	}
	data, err := readBlock(path)
	if err != nil {
		return nil, err
	}
	s := &stream{place: p, index: x, blocks: []block{{number, scan(data, newHash(p.name, number))}}}
	s.marked = marks(s.blocks)
	b := &s.blocks[0]
	if len(b.damage) == 0 {
		return nil, nil
	}
	if known, err := pending(dir, p.name, number); known || err != nil {
		return nil, err
	}
	r, err := newReport(dir, now)
	if err != nil {
		return nil, err
	}
	c := newCount(s)
	f := Finding{Stream: p.name, Block: number, Kind: Damaged, Whole: c.whole(b), Cut: c.behind(b), Lost: c.lost(number), Damage: b.damage}
	f.Kept, err = r.copyFile(p.name, path)
	if err == nil {
		r.Findings, r.Running, r.Pending = []Finding{f}, true, true
		err = r.write()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(r.Dir))
	}
	return r, nil
}

// pending reports whether a block was copied while the server ran, and will be repaired only at the
// next start.
func pending(dir, stream string, number uint32) (bool, error) {
	open, err := Unacknowledged(dir)
	return slices.ContainsFunc(open, func(r Report) bool {
		return r.Pending && slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Stream == stream && f.Block == number })
	}), err
}

// Note reports that a running server found a block of a stream missing. There is nothing to copy.
func Note(dir, stream string, now time.Time) (*Report, error) {
	r, err := newReport(dir, now)
	if err != nil {
		return nil, err
	}
	r.Findings, r.Running = []Finding{{Stream: stream, Kind: Missing}}, true
	return r, r.write()
}

// blockAt checks that a path belongs to a block of a data directory.
func blockAt(dir, path string) (place, uint32, error) {
	text, ok := strings.CutSuffix(filepath.Base(path), blockExt)
	n, err := strconv.ParseUint(text, 10, 32)
	p := filepath.Dir(filepath.Dir(path))
	rel, relErr := filepath.Rel(filepath.Join(dir, storeDir), path)
	if !ok || err != nil || relErr != nil || !filepath.IsLocal(rel) {
		return place{}, 0, fmt.Errorf("%s is not a block of %s", path, dir)
	}
	return place{filepath.Base(p), p}, uint32(n), nil
}

// putBack puts messages back into blocks. A running server had cut them off, after Keep had copied
// the blocks. putBack returns the streams that have changed.
func (m *repairer) putBack() ([]string, error) {
	open, err := Unacknowledged(m.dir)
	if err != nil {
		return nil, err
	}
	all, err := places(m.dir)
	if err != nil {
		return nil, err
	}
	var changed []string
	for i := range open {
		r := &open[i]
		if !r.Pending {
			continue
		}
		for i := range r.Findings {
			f := &r.Findings[i]
			at := slices.IndexFunc(all, func(p place) bool { return p.name == f.Stream })
			if at < 0 || f.Kept == "" {
				continue
			}
			if err := m.putBackTo(all[at], r, f); err != nil {
				return nil, fmt.Errorf("putting back the messages of %s: %w", f.Kept, err)
			}
			changed = append(changed, f.Stream)
		}
		r.Pending = false
		if err := r.write(); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// putBackTo puts back the messages that one block has lost since it was copied. If the server has
// not cut the block off, it is repaired as other blocks are, and needs no second copy.
func (m *repairer) putBackTo(p place, r *Report, f *Finding) error {
	kept := filepath.Join(r.Dir, f.Stream, filepath.Base(f.Kept))
	same, err := begins(p.block(f.Block), kept)
	if err != nil {
		return err
	}
	if same {
		m.kept[blockID{f.Stream, f.Block}] = r
		return nil
	}
	if err := p.merge(f, kept); err != nil {
		return err
	}
	m.Logger.Warn("engine: messages that the server had cut off are back", "finding", f.String())
	return nil
}

// begins reports whether a block begins with all the bytes of its copy. The server may have
// appended more since.
func begins(path, kept string) (bool, error) {
	old, err := readBlock(kept)
	if err != nil {
		return false, err
	}
	now, err := readBlock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return bytes.HasPrefix(now, old), err
}

// merge adds the undamaged records of a copied block to the current block.
func (p place) merge(f *Finding, kept string) error {
	s, err := p.read(nil)
	if err != nil {
		return err
	}
	old, err := p.part(kept, f.Block)
	if err != nil {
		return err
	}
	now, err := p.part(p.block(f.Block), f.Block)
	if err != nil {
		return err
	}
	taken := make(map[uint64]bool)
	for _, b := range s.blocks {
		for _, r := range b.records {
			taken[r.sequence] = taken[r.sequence] || r.kind != mark
		}
	}
	f.Back, f.InUse = now.take(old, taken)
	if f.Back == 0 {
		return nil
	}
	return s.replace(f.Block, now.bytes())
}

// A part holds the records of one block, with their bytes.
type part struct {
	records []record
	raw     [][]byte
}

// part reads a block. A missing block has no records.
func (p place) part(path string, number uint32) (*part, error) {
	data, err := readBlock(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := &part{}
	for _, r := range scan(data, newHash(p.name, number)).records {
		out.records, out.raw = append(out.records, r), append(out.raw, data[r.offset:r.end()])
	}
	return out, nil
}

// take adds the missing records of another part. It counts the messages that it took, and those
// that it could not take because another message has their number.
func (t *part) take(other *part, taken map[uint64]bool) (took, inUse int) {
	same := make(map[string]bool)
	for _, raw := range t.raw {
		same[string(raw)] = true
	}
	for i, r := range other.records {
		switch {
		case same[string(other.raw[i])]:
		case r.kind != mark && taken[r.sequence]:
			if r.kind == message {
				inUse++
			}
		default:
			t.records, t.raw = append(t.records, r), append(t.raw, other.raw[i])
			if r.kind == message {
				took++
			}
		}
	}
	return took, inUse
}

// bytes returns the part as a block: sorted by sequence number, with the marks, whose place does
// not matter, at the end.
func (t *part) bytes() []byte {
	order := make([]int, len(t.records))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := t.records[a], t.records[b]
		if (x.kind == mark) != (y.kind == mark) {
			return cmp.Compare(boolInt(x.kind == mark), boolInt(y.kind == mark))
		}
		if x.kind == mark {
			return 0
		}
		return cmp.Compare(x.sequence, y.sequence)
	})
	var out []byte
	for _, i := range order {
		out = append(out, t.raw[i]...)
	}
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// KeepAll calls Keep for every block of a stream. It is used if the server does not say which block
// it is about to rebuild. If only the last record of the last block is incomplete, that is no
// damage: a write may be running.
func KeepAll(dir, name string, now time.Time) ([]*Report, error) {
	all, err := places(dir)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(p place) bool { return p.name == name })
	if at < 0 {
		return nil, fmt.Errorf("there is no stream %s in %s", name, dir)
	}
	numbers, err := all[at].numbers()
	if err != nil {
		return nil, err
	}
	var out []*Report
	for i, n := range numbers {
		if i == len(numbers)-1 && all[at].onlyTorn(n) {
			continue
		}
		r, err := Keep(dir, all[at].block(n), now)
		if err != nil {
			return out, err
		}
		if r != nil {
			out = append(out, r)
		}
	}
	return out, nil
}

// onlyTorn reports whether the only damage of a block is that its last record is incomplete.
func (p place) onlyTorn(number uint32) bool {
	data, err := readBlock(p.block(number))
	if err != nil {
		return false
	}
	s := scan(data, newHash(p.name, number))
	return len(s.damage) == 1 && s.torn
}
