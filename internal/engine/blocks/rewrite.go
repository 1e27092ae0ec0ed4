package blocks

import (
	"errors"
	"io/fs"
	"os"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

// rewrite replaces a block by one that has its whole records and nothing else. Messages that are
// known to be deleted are left out: the record that said so may be among those that are lost.
func (s *stream) rewrite(number uint32) error {
	b := s.find(number)
	if b == nil {
		return s.dropIndex()
	}
	data, err := readBlock(s.block(number))
	if err != nil {
		return err
	}
	out := make([]byte, 0, len(data))
	for _, r := range b.records {
		if r.kind != message || s.live(number, r) {
			out = append(out, data[r.offset:r.end()]...)
		}
	}
	return s.replace(number, out)
}

// replace writes a block. The index goes first: it speaks of the block as it was, and without it
// the server reads the blocks.
func (s *stream) replace(number uint32, data []byte) error {
	if err := s.dropIndex(); err != nil {
		return err
	}
	if len(data) == 0 {
		return os.Remove(s.block(number))
	}
	return atomicfile.Write(s.block(number), data, atomicfile.Options{})
}

func (s *stream) dropIndex() error {
	err := os.Remove(s.place.index())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return atomicfile.SyncDir(s.messages())
}

// holdLast keeps the server from giving out sequence numbers a second time that lost messages had:
// it writes a mark with the last one into a block of its own, as the server does when it finds that
// its last messages are gone.
func (s *stream) holdLast() error {
	if s.index == nil || s.index.last <= s.top() {
		return nil
	}
	number := s.lastNumber() + 1
	return s.replace(number, appendMark(nil, s.index.last, s.index.lastTime, newHash(s.name, number)))
}
