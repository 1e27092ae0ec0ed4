package blocks

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/filestate"
)

// sealFile describes the files at the last clean stop. It exists only while no server runs.
const sealFile = "clean.json"

// sealVersion is the version of the seal's format. A store with a seal of another version is read
// once.
const sealVersion = 3

// A seal holds the sizes and times of all files with messages.
type seal struct {
	Version int                      `json:"version"`
	Streams map[string]*sealedStream `json:"streams"` // by directory, relative to the data directory
}

// A sealedStream is one stream of a seal: its files by name.
type sealedStream struct {
	Files map[string]sealedFile `json:"files"`
	// Doubtful is set if something was wrong with the files at the stop. The next start reads them,
	// although they have not changed.
	Doubtful bool `json:"doubtful,omitempty"`
}

// A sealedFile is the state of one file. Programs can set back its modification time, but not its
// change time, which the system maintains.
type sealedFile struct {
	Size    int64  `json:"size"`
	Time    int64  `json:"mtime"` // in nanoseconds since 1970
	Changed int64  `json:"ctime"` // in nanoseconds since 1970; 0 if the system does not report it
	Inode   uint64 `json:"inode"` // 0 if the system does not report it
}

func sealedAs(info fs.FileInfo) sealedFile {
	s := filestate.Of(info)
	return sealedFile{s.Size, s.Modified, s.Changed, s.Inode}
}

// blocks returns the sizes of the blocks that were not empty.
func (s *sealedStream) blocks() map[uint32]int64 {
	out := make(map[uint32]int64)
	if s == nil {
		return out
	}
	for name, f := range s.Files {
		text, ok := strings.CutSuffix(name, blockExt)
		n, err := strconv.ParseUint(text, 10, 32)
		if ok && err == nil && f.Size > 0 {
			out[uint32(n)] = f.Size
		}
	}
	return out
}

// same reports whether the files have not changed, and nothing was wrong with them before.
func (s *sealedStream) same(now *sealedStream) bool {
	return s != nil && !s.Doubtful && maps.Equal(s.Files, now.Files)
}

// fileStates returns the current state of a stream's files. It reads none of them.
func (p place) fileStates() (*sealedStream, error) {
	s := &sealedStream{Files: make(map[string]sealedFile)}
	entries, err := entriesOf(p.messages())
	if err != nil {
		return nil, err
	}
	for _, name := range settingsFiles() {
		if info, err := os.Stat(filepath.Join(p.dir, name)); err == nil {
			s.Files[name] = sealedAs(info)
		}
	}
	for _, e := range entries {
		if e.Name() != indexFile && filepath.Ext(e.Name()) != blockExt {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		s.Files[e.Name()] = sealedAs(info)
	}
	return s, nil
}

// Seal records sizes and times after the server has stopped. The next start reads no block of a
// stream that has not changed since. Seal first checks the lengths and numbers of the blocks that
// changed while the server was running. ran is what [Open] returned for that server; nil means that
// all blocks were just read.
func Seal(dir string, ran *Unread) error {
	all, err := places(dir)
	if err != nil {
		return err
	}
	s := seal{Version: sealVersion, Streams: make(map[string]*sealedStream)}
	for _, p := range all {
		rel, err := filepath.Rel(dir, p.dir)
		if err != nil {
			return err
		}
		now, err := p.fileStates()
		if err != nil {
			return err
		}
		now.Doubtful = ran != nil && p.doubtful(ran.before[p.dir], now)
		s.Streams[rel] = now
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, sealFile), text, atomicfile.Options{})
}

// readSeal returns nil if there is no readable seal. In that case everything is read.
func readSeal(dir string) *seal {
	text, err := os.ReadFile(filepath.Join(dir, sealFile))
	if err != nil {
		return nil
	}
	var s seal
	if json.Unmarshal(text, &s) != nil || s.Version != sealVersion {
		return nil
	}
	return &s
}

// of returns the state of a stream in the seal, or nil.
func (s *seal) of(dir string, p place) *sealedStream {
	if s == nil {
		return nil
	}
	rel, err := filepath.Rel(dir, p.dir)
	if err != nil {
		return nil
	}
	return s.Streams[rel]
}

// gone returns the streams of a seal whose directories do not exist any more.
func (s *seal) gone(dir string) []string {
	if s == nil {
		return nil
	}
	var out []string
	for rel := range s.Streams {
		if _, err := os.Stat(filepath.Join(dir, rel)); errors.Is(err, fs.ErrNotExist) {
			out = append(out, filepath.Base(rel))
		}
	}
	return out
}

// Unseal removes the seal. This must happen before a server starts.
func Unseal(dir string) error {
	err := os.Remove(filepath.Join(dir, sealFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
