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

// A ledger is the locked lock file of a plugin's directory. The file has a record of the plugin's
// usage.
//
// The record saves counting all files for each change. It is erased before a change and written
// again after it. So a writer that is killed in between leaves no record, and the next writer
// counts. A record is also ignored if the directory has changed since it was written: a person may
// have removed files, or a crash of the machine may have lost the last record.
type ledger struct {
	dir  *dir
	file *os.File
}

// close releases the lock.
func (l *ledger) close() { _ = l.file.Close() }

// A record is the content of the lock file.
type record struct {
	entry.Usage
	Changed int64 `json:"changed"` // the directory's modification time, in nanoseconds
}

// maxRecord is more than the three numbers and their names need.
const maxRecord = 256

func decodeRecord(data []byte) (r record, ok bool) {
	err := json.Unmarshal(data, &r)
	return r, err == nil && r.Bytes >= 0 && r.Keys >= 0
}

// load returns the plugin's usage.
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

// repair cleans up after a writer that was killed: it removes temporary files, flushes renames and
// removals, and counts everything.
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

// save writes the record. A failure is ignored, because the change itself is done: without a
// complete record the next writer counts.
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

// changed returns when the directory was last changed.
func (l *ledger) changed() (int64, error) {
	info, err := l.dir.root.Stat(".")
	if err != nil {
		return 0, withPath(l.dir.path, err)
	}
	return info.ModTime().UnixNano(), nil
}

// count returns the plugin's usage. A damaged file counts as a key, with all its bytes.
func (d *dir) count(ctx context.Context) (entry.Usage, error) {
	var all entry.Usage
	err := d.walk(ctx, func(f found) error {
		one, err := d.usageOf(f.name, f.key)
		all = all.Plus(one)
		return err
	})
	return all, err
}
