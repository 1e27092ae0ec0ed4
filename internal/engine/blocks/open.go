package blocks

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Options are the options of [Open].
type Options struct {
	Now    time.Time
	Logger *slog.Logger
	All    bool // read every block, also unchanged ones
}

// Open prepares a data directory for the server. It copies blocks that the server would cut off,
// and replaces them by blocks with all of their undamaged records. It returns its findings, or nil
// if there are none, and the blocks that it has not read. It also removes the seal.
//
// The caller must hold the lock of the directory. After an error, such as a block that cannot be
// read or copied, the server must not start.
func Open(dir string, o Options) (*Report, *Unread, error) {
	if err := interrupted(dir); err != nil {
		return nil, nil, err
	}
	m := repairer{Options: o, dir: dir, unread: &Unread{dir: dir, before: make(map[string]*sealedStream)}, kept: make(map[blockID]*Report)}
	back, err := m.putBack()
	if err != nil {
		return nil, nil, err
	}
	if err := m.repairAll(readSeal(dir), back); err != nil {
		return nil, nil, errors.Join(err, m.giveUp())
	}
	return m.report, m.unread, Unseal(dir)
}

// giveUp removes the report and its copies, unless a file of the store may have been changed. The
// next start makes them again.
func (m *repairer) giveUp() error {
	if m.report == nil || m.changed {
		return nil
	}
	return os.RemoveAll(m.report.Dir)
}

// Check reads every block of a data directory and changes nothing. With changed it skips the
// streams that have not changed since the last clean stop.
func Check(dir string, changed bool, log *slog.Logger) (Checked, error) {
	if err := interrupted(dir); err != nil {
		return Checked{}, err
	}
	c := Checked{Counts: []Count{}, Findings: []Finding{}}
	all, err := places(dir)
	if err != nil {
		return c, err
	}
	kept := readSeal(dir)
	for _, p := range all {
		before := kept.of(dir, p)
		if now, err := p.fileStates(); err != nil {
			return c, err
		} else if bad, err := p.badConsumers(); err != nil {
			return c, err
		} else if changed && before.same(now) && len(bad) == 0 {
			continue
		}
		s, err := p.read(before)
		if errors.Is(err, errForeign) {
			log.Warn("engine: a stream cannot be checked", "err", err)
			c.Skipped = append(c.Skipped, p.name)
			continue
		}
		if err != nil {
			return c, err
		}
		c.add(s)
	}
	c.Gone = kept.gone(dir)
	return c, nil
}

// Checked is the result of a check.
type Checked struct {
	Streams  int       `json:"streams"`
	Blocks   int       `json:"blocks"`
	Messages int       `json:"messages"` // undamaged and not deleted
	Counts   []Count   `json:"counts"`
	Findings []Finding `json:"findings"`
	Skipped  []string  `json:"skipped,omitempty"` // streams that this engine did not write
	Gone     []string  `json:"gone,omitempty"`    // streams that existed at the last clean stop
}

// A Count is how many messages a stream has.
type Count struct {
	Stream    string `json:"stream"`
	Messages  int    `json:"messages"`
	Unlimited bool   `json:"unlimited"`          // the server removes none by itself
	Unopened  bool   `json:"unopened,omitempty"` // it has no settings until the engine next uses it
}

func (c *Checked) add(s *stream) {
	c.Streams++
	c.Blocks += len(s.blocks)
	counting, n := newCount(s), 0
	for i := range s.blocks {
		n += counting.whole(&s.blocks[i])
	}
	c.Messages += n
	c.Counts = append(c.Counts, Count{s.name, n, s.unlimited(), s.noSettings()})
	c.Findings = append(c.Findings, s.findings()...)
}

// A repairer repairs a data directory.
type repairer struct {
	Options
	dir     string
	unread  *Unread
	kept    map[blockID]*Report // blocks that were copied while a server ran, and have not changed since
	report  *Report             // nil: nothing was found yet
	changed bool                // a file of the store may have been changed
}

// A blockID names a block of a data directory.
type blockID struct {
	stream string
	number uint32
}

// repairAll checks the streams whose files have changed since the last clean stop, and the streams
// in written, whatever their files look like.
func (m *repairer) repairAll(kept *seal, written []string) error {
	all, err := places(m.dir)
	if err != nil {
		return err
	}
	for _, p := range all {
		before := kept.of(m.dir, p)
		now, err := p.fileStates()
		if err != nil {
			return err
		}
		bad, err := p.badConsumers()
		if err != nil {
			return err
		}
		if !m.All && before.same(now) && len(bad) == 0 && !slices.Contains(written, p.name) {
			if err := m.unread.add(p); err != nil {
				return err
			}
			m.unread.before[p.dir] = now
			continue
		}
		whole, err := m.readAndRepair(p, before)
		if err != nil {
			return err
		}
		if whole {
			m.unread.before[p.dir] = now
		}
	}
	m.unread.order()
	return m.goneStreams(kept)
}

// readAndRepair reads and repairs a stream. It reports whether the stream was undamaged.
func (m *repairer) readAndRepair(p place, before *sealedStream) (bool, error) {
	s, err := p.read(before)
	if errors.Is(err, errForeign) {
		m.Logger.Warn("engine: a stream cannot be checked", "err", err)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("checking stream %s: %w", p.name, err)
	}
	found := s.findings()
	if err := m.repair(s, found); err != nil {
		return false, fmt.Errorf("stream %s is damaged, and cannot be copied and repaired: %w", p.name, err)
	}
	return len(found) == 0, nil
}

// goneStreams reports streams whose directories have disappeared since the last clean stop.
func (m *repairer) goneStreams(kept *seal) error {
	for _, name := range kept.gone(m.dir) {
		if err := m.begin(); err != nil {
			return err
		}
		m.report.Findings = append(m.report.Findings, Finding{Stream: name, Kind: Missing})
	}
	if m.report == nil {
		return nil
	}
	return m.report.write()
}

// begin makes the report, if there is none yet.
func (m *repairer) begin() (err error) {
	if m.report == nil {
		m.report, err = newReport(m.dir, m.Now)
	}
	return err
}

// repair copies the damaged blocks of a stream aside and rewrites them.
func (m *repairer) repair(s *stream, found []Finding) error {
	if len(found) == 0 {
		return nil
	}
	for i := range found {
		if err := m.addFinding(s, &found[i]); err != nil { // before the first byte changes
			return err
		}
	}
	m.changed = true
	for _, f := range found {
		var err error
		switch f.Kind {
		case Settings:
			err = m.dropSettings(s)
		case Consumer:
			err = m.dropConsumer(s, f.Name)
		default:
			err = s.rewrite(f.Block)
		}
		if err != nil {
			return err
		}
	}
	return s.holdLast()
}

// addFinding copies a block and the index aside, and reports them. A block that was copied while
// the server ran already has a report, which gets the current counts.
func (m *repairer) addFinding(s *stream, f *Finding) error {
	if r := m.kept[blockID{s.name, f.Block}]; r != nil {
		return r.complete(f)
	}
	if err := m.begin(); err != nil {
		return err
	}
	if err := m.copyBlockAndIndex(s, f); err != nil {
		return err
	}
	m.report.Findings = append(m.report.Findings, *f)
	return m.report.write()
}

func (m *repairer) copyBlockAndIndex(s *stream, f *Finding) (err error) {
	if b := s.find(f.Block); b != nil && b.size > 0 {
		f.Kept, err = m.report.copyFile(s.name, s.block(f.Block))
	}
	if err == nil && s.index != nil {
		_, err = m.report.copyFile(s.name, s.place.index())
	}
	return err
}

// interrupted returns an error for a directory in which a restore was interrupted: a server would
// begin with an empty store.
func interrupted(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, storeDir)); err == nil {
		return nil
	}
	old, err := filepath.Glob(filepath.Join(dir, storeDir+beforeRestore+"*"))
	if err != nil || len(old) == 0 {
		return err
	}
	return fmt.Errorf("a restore was interrupted: %s is missing: run `patchbay engine restore` again, or rename %s to it",
		filepath.Join(dir, storeDir), old[len(old)-1])
}

// beforeRestore is part of the name under which a restore keeps the store that it replaced.
const beforeRestore = ".before-restore-"
