package blocks

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

const (
	consumersDir = "obs"   // below a stream's directory: a directory for each consumer
	stateFile    = "o.dat" // in a consumer's directory: which messages it was sent, and which it has acknowledged
)

func (p place) consumer(name string) string { return filepath.Join(p.dir, consumersDir, name) }

// consumerFiles returns the files of a consumer.
func consumerFiles() []string { return append(settingsFiles(), stateFile) }

// badConsumers lists the consumers of a stream whose files are damaged. The server does not open
// such a consumer, and does not create it again either while its files are there. Without the files
// the engine creates it at its next use. Then messages that were sent and not acknowledged are sent
// again, which a queue does after every crash.
func (p place) badConsumers() ([]string, error) {
	all, err := entriesOf(filepath.Join(p.dir, consumersDir))
	if err != nil {
		return nil, err
	}
	var bad []string
	for _, c := range all {
		whole, err := p.consumerIsWhole(c.Name())
		if err != nil {
			return nil, err
		}
		if !whole {
			bad = append(bad, c.Name())
		}
	}
	return bad, nil
}

func (p place) consumerIsWhole(name string) (bool, error) {
	dir := p.consumer(name)
	_, err := readMeta(dir, "", p.name+"/"+name)
	if err != nil && !errors.Is(err, errMismatch) && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if errors.Is(err, errMismatch) || halfSettings(dir) {
		return false, nil
	}
	state, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return len(state) == 0 || isConsumerState(state), nil // the server accepts an empty file
}

// The bytes with which the state of a consumer begins, and the number of its other numbers.
const (
	stateMagic, stateVersion = 22, 2
	stateNumbers             = 4
	pendingNumbers           = 3
	redeliveredNumbers       = 2
)

// isConsumerState reports whether bytes are the state of a consumer: four numbers, the count of the
// pending messages, the time to which theirs are relative, three numbers for each; the count of the
// redelivered messages, two numbers for each. There is no hash.
func isConsumerState(data []byte) bool {
	if len(data) < 2 || data[0] != stateMagic || data[1] != stateVersion {
		return false
	}
	r := numberReader{data[2:], true}
	var last uint64 // the number of the last message that was sent; the one before it belongs to the acknowledged ones
	for i := range stateNumbers {
		if n := r.next(); i%2 == 1 {
			last |= n
		}
	}
	if pending := r.next(); pending > 0 {
		r.next()
		r.skip(pending, pendingNumbers)
	}
	r.skip(r.next(), redeliveredNumbers)
	return r.ok && len(r.rest) == 0 && last>>63 == 0
}

// A numberReader reads numbers of variable length.
type numberReader struct {
	rest []byte
	ok   bool // false: there was no number
}

func (r *numberReader) next() uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.ok = r.ok && size > 0; !r.ok {
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// skip reads the numbers of some entries. A damaged count may be huge: each number has a byte.
func (r *numberReader) skip(entries uint64, numbers int) {
	r.ok = r.ok && entries <= uint64(len(r.rest)/numbers)
	for i := 0; r.ok && i < int(entries)*numbers; i++ {
		r.next()
	}
}

// dropConsumer moves the files of a damaged consumer aside, so that the engine creates it again.
func (m *repairer) dropConsumer(s *stream, name string) error {
	dir := s.consumer(name)
	if err := m.setAside(filepath.Join(s.name, consumersDir, name), dir, consumerFiles()); err != nil {
		return err
	}
	rest, err := entriesOf(dir)
	if err != nil || slices.ContainsFunc(rest, func(e fs.DirEntry) bool { return !isTemporary(e.Name()) }) {
		return err // files that are not the server's
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(dir))
}

// isTemporary reports whether a file of a consumer is a draft: the server writes one and renames
// it.
func isTemporary(name string) bool { return filepath.Ext(name) == ".tmp" }
