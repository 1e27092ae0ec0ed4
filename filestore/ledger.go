package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/entry"
)

// A ledger is the lock of a plugin's directory, held, and the record in it of how much the plugin
// keeps.
//
// The record saves counting all files for each change. It is erased before a change and written
// anew after it. So a writer that was killed in between leaves none, and the next one counts. A
// record also counts for nothing when the directory has been changed since: by a person who removed
// files, or by a crash of the machine that lost the record's last state.
type ledger struct {
	dir  *dir
	file *os.File
}

// close gives the lock back.
func (l *ledger) close() { _ = l.file.Close() }

// A record is the content of the lock file.
type record struct {
	entry.Usage
	Changed int64 `json:"changed"` // the directory's modification time, in nanoseconds
}

// maxRecord is more than three numbers and their names take.
const maxRecord = 256

func decodeRecord(data []byte) (r record, ok bool) {
	err := json.Unmarshal(data, &r)
	return r, err == nil && r.Bytes >= 0 && r.Keys >= 0
}

// load tells how much the plugin keeps.
func (l *ledger) load(ctx context.Context) (entry.Usage, error) {
	data, err := io.ReadAll(io.NewSectionReader(l.file, 0, maxRecord))
	if err != nil {
		return entry.Usage{}, err
	}
	changed, err := l.changed()
	if err != nil {
		return entry.Usage{}, err
	}
	if r, ok := decodeRecord(data); ok && r.Changed == changed {
		return r.Usage, nil
	}
	return l.repair(ctx)
}

// repair puts the directory in order after a writer that was killed: what it left is removed, what it
// renamed or removed is flushed, and everything is counted.
func (l *ledger) repair(ctx context.Context) (entry.Usage, error) {
	if err := l.dir.removeTemps(); err != nil {
		return entry.Usage{}, err
	}
	if err := errors.Join(syncDir(l.dir.root), syncPath(filepath.Dir(l.dir.path))); err != nil {
		return entry.Usage{}, err
	}
	used, err := l.dir.count(ctx)
	if err == nil {
		l.save(used)
	}
	return used, err
}

// erase erases the record.
func (l *ledger) erase() error { return l.file.Truncate(0) }

// save writes the record. Where that fails, the change that it tells of is done all the same:
// without a whole record the next writer counts.
func (l *ledger) save(used entry.Usage) {
	changed, err := l.changed()
	if err != nil || l.erase() != nil {
		return
	}
	data, err := json.Marshal(record{Usage: used, Changed: changed})
	if err == nil {
		_, _ = l.file.WriteAt(data, 0)
	}
}

// changed is when the directory was last changed.
func (l *ledger) changed() (int64, error) {
	info, err := l.dir.root.Stat(".")
	if err != nil {
		return 0, withPath(l.dir.path, err)
	}
	return info.ModTime().UnixNano(), nil
}

// count counts all that the plugin keeps. A damaged file counts as a key, with all its bytes.
func (d *dir) count(ctx context.Context) (entry.Usage, error) {
	var all entry.Usage
	err := d.walk(ctx, func(f found) error {
		one, err := d.usageOf(f.name, f.key)
		all = all.Plus(one)
		return err
	})
	return all, err
}
