package blocks

import (
	"errors"
	"io/fs"
	"os"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

// rewrite replaces a block by one with only its undamaged records. It leaves out repeated messages,
// and messages that are known to be deleted, because the mark that said so may be lost.
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
		if r.kind == deleted || r.kind == mark || s.live(number, r) {
			out = append(out, data[r.offset:r.end()]...)
		}
	}
	return s.replace(number, out)
}

// replace writes a block. It removes the index first, which describes the old block; without an
// index the server reads the blocks.
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

// holdLast keeps the server from using the sequence numbers of lost messages again. It writes a
// mark with the last number into a new block, as the server does when its last messages are gone.
func (s *stream) holdLast() error {
	if s.index == nil || s.index.last <= s.top() {
		return nil
	}
	number := s.lastNumber() + 1
	return s.replace(number, appendMark(nil, s.index.last, s.index.lastTime, newHash(s.name, number)))
}
