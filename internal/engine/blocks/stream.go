package blocks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

const (
	storeDir  = "jetstream" // below the data directory: the server's files
	messages  = "msgs"      // below a stream's directory
	indexFile = "index.db"
	blockExt  = ".blk"
	// maxBlock limits the size of a block that is read. The server begins a new block at 8 MB, and
	// a message has up to 8 MiB.
	maxBlock = 64 << 20
)

// A place is a stream's directory.
type place struct {
	name string // of the stream
	dir  string
}

func (p place) messages() string           { return filepath.Join(p.dir, messages) }
func (p place) index() string              { return filepath.Join(p.dir, messages, indexFile) }
func (p place) block(number uint32) string { return filepath.Join(p.messages(), blockName(number)) }

func blockName(number uint32) string { return strconv.FormatUint(uint64(number), 10) + blockExt }

// entriesOf lists a directory. It returns nothing for one that does not exist.
func entriesOf(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// places lists the streams of a data directory by name.
func places(dir string) ([]place, error) {
	accounts, err := entriesOf(filepath.Join(dir, storeDir))
	if err != nil {
		return nil, err
	}
	var out []place
	for _, a := range accounts {
		streams := filepath.Join(dir, storeDir, a.Name(), "streams")
		entries, err := entriesOf(streams)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") { // the server is deleting those
				out = append(out, place{e.Name(), filepath.Join(streams, e.Name())})
			}
		}
	}
	return out, nil
}

// numbers lists the blocks of a stream in order.
func (p place) numbers() ([]uint32, error) {
	entries, err := entriesOf(p.messages())
	if err != nil {
		return nil, err
	}
	var out []uint32
	for _, e := range entries {
		text, ok := strings.CutSuffix(e.Name(), blockExt)
		n, err := strconv.ParseUint(text, 10, 32)
		if ok && err == nil && blockName(uint32(n)) == e.Name() {
			out = append(out, uint32(n))
		}
	}
	slices.Sort(out)
	return out, nil
}

// A stream holds the content of a stream's files.
type stream struct {
	place
	blocks []block // by number
	index  *index  // nil: missing or damaged
	// exact is set if the server has removed no message by itself since it wrote the index. Then a
	// message that the index lists and no record has is lost.
	exact  bool
	sealed map[uint32]int64 // sizes of blocks at the last clean stop; empty: it was not clean
	marked map[uint64]bool  // messages that marks name as deleted

	consumers []string // whose files are damaged
}

// A block is one file of a stream.
type block struct {
	number uint32
	scanned
}

// read reads every block of a stream.
func (p place) read(seal *sealedStream) (*stream, error) {
	s := &stream{place: p}
	if err := p.readable(); err != nil {
		return nil, err
	}
	numbers, err := p.numbers()
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		data, err := readBlock(p.block(n))
		if err != nil {
			return nil, err
		}
		s.blocks = append(s.blocks, block{n, scan(data, newHash(p.name, n))})
	}
	if data, err := os.ReadFile(p.index()); err == nil {
		s.index, _ = parseIndex(data, p.name) // the server makes a damaged one again
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if s.consumers, err = p.badConsumers(); err != nil {
		return nil, err
	}
	s.exact = seal != nil || p.unlimited()
	s.sealed, s.marked = seal.blocks(), marks(s.blocks)
	return s, nil
}

func marks(blocks []block) map[uint64]bool {
	out := make(map[uint64]bool)
	for _, b := range blocks {
		for _, r := range b.records {
			if r.kind == mark {
				out[r.sequence] = true
			}
		}
	}
	return out
}

// readable returns an error for streams that this package does not understand. The engine's own
// settings never create one.
func (p place) readable() error {
	if _, err := os.Stat(filepath.Join(p.dir, "meta.key")); err == nil {
		return fmt.Errorf("stream %s is encrypted: %w", p.name, errForeign)
	}
	if m := p.meta(); m.Compression != "" && m.Compression != "none" {
		return fmt.Errorf("stream %s is compressed: %w", p.name, errForeign)
	}
	return nil
}

var errForeign = errors.New("not written by this engine, and not checked")

// A meta is the part of meta.inf about storage and limits.
type meta struct {
	Compression string `json:"compression"`
	Retention   string `json:"retention"`
	MaxAge      int64  `json:"max_age"`
	MaxBytes    int64  `json:"max_bytes"`
	MaxMsgs     int64  `json:"max_msgs"`
	PerSubject  int64  `json:"max_msgs_per_subject"`
}

func (p place) meta() meta {
	var m meta
	data, err := os.ReadFile(filepath.Join(p.dir, "meta.inf"))
	if err != nil || json.Unmarshal(data, &m) != nil {
		return meta{} // the server reports it; an unknown stream counts as one with limits
	}
	return m
}

// unlimited reports whether messages of a stream are removed only by a client. In other streams the
// server removes messages without a mark, and after a crash the index does not show that.
func (p place) unlimited() bool {
	m := p.meta()
	return m.Retention == "limits" && m.MaxAge <= 0 && m.MaxBytes <= 0 && m.MaxMsgs <= 0 && m.PerSubject <= 0
}

func readBlock(path string) ([]byte, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBlock {
		return nil, fmt.Errorf("%s: %d bytes are more than a block can have", path, info.Size())
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead) // enough for it to see the end without growing
	_, err = b.ReadFrom(io.LimitReader(f, maxBlock))
	return b.Bytes(), err
}

// find returns a block of the stream, or nil if its file is missing.
func (s *stream) find(number uint32) *block {
	i, ok := slices.BinarySearchFunc(s.blocks, number, func(b block, n uint32) int { return cmp.Compare(b.number, n) })
	if !ok {
		return nil
	}
	return &s.blocks[i]
}

// known returns the numbers of all blocks that exist or should exist.
func (s *stream) known() []uint32 {
	var out []uint32
	for _, b := range s.blocks {
		out = append(out, b.number)
	}
	for n := range s.sealed {
		out = append(out, n)
	}
	if s.index != nil {
		for n := range s.index.blocks {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// top returns the highest sequence number of any undamaged record.
func (s *stream) top() uint64 {
	var top uint64
	for _, b := range s.blocks {
		for _, r := range b.records {
			top = max(top, r.sequence)
		}
	}
	return top
}
