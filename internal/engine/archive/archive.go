package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
)

const (
	manifestName = "manifest.json"
	// maxFile limits one entry. A block has at most 8 MB and one message of up to 8 MiB.
	maxFile = 64 << 20
	// maxManifest limits the manifest: some hundred bytes for each of a million entries.
	maxManifest = 256 << 20
	// version is the version of the format.
	version = 1
)

// layout matches the names of the entries that an archive may have. It is compiled when an archive
// is first used, because that takes half a millisecond.
var layout = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^streams/([A-Za-z0-9_-]{1,128})/(meta\.inf|meta\.sum|msgs/([1-9][0-9]{0,9})\.blk|obs/[A-Za-z0-9_-]{1,128}/(meta\.inf|meta\.sum|o\.dat))$`)
})

// A Manifest lists the entries of an archive.
type Manifest struct {
	Version int       `json:"version"`
	Server  string    `json:"server"` // the version of nats-server that wrote the files
	Created time.Time `json:"created"`
	Files   []File    `json:"files"`
}

// A File is one entry of an archive.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// A Summary counts the contents of an archive.
type Summary struct {
	Created time.Time `json:"created"`
	Streams int       `json:"streams"`
	Blocks  int       `json:"blocks"`
	Records int       `json:"records"` // messages, also deleted ones that the server has not yet removed
	Bytes   int64     `json:"bytes"`   // of all entries
}

// A Writer writes an archive.
type Writer struct {
	manifest Manifest
	zip      *gzip.Writer
	tar      *tar.Writer
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer, created time.Time) *Writer {
	zip := gzip.NewWriter(w)
	return &Writer{manifest: Manifest{Version: version, Server: blocks.ServerVersion, Created: created.UTC()}, zip: zip, tar: tar.NewWriter(zip)}
}

// Add writes one file of a stream.
func (w *Writer) Add(stream, name string, data []byte) error {
	entry := path.Join("streams", stream, name)
	if !layout().MatchString(entry) {
		return fmt.Errorf("a backup cannot contain %.200q", entry)
	}
	sum := sha256.Sum256(data)
	w.manifest.Files = append(w.manifest.Files, File{entry, int64(len(data)), hex.EncodeToString(sum[:])})
	return w.put(entry, data)
}

func (w *Writer) put(name string, data []byte) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: w.manifest.Created, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := w.tar.Write(data)
	return err
}

// Close writes the manifest and ends the archive. It does not close the underlying writer.
func (w *Writer) Close() error {
	text, err := json.Marshal(w.manifest)
	if err != nil {
		return err
	}
	return errors.Join(w.put(manifestName, text), w.tar.Close(), w.zip.Close())
}

// Read reads an archive to its end and checks everything. It passes every file to the function each
// before it reads the manifest, which comes last. So these files can be trusted only if Read
// returns no error.
func Read(r io.Reader, each func(stream, name string, data []byte) error) (*Summary, error) {
	zip, err := gzip.NewReader(bufio.NewReaderSize(r, 1<<20))
	if errors.Is(err, io.EOF) {
		return nil, errors.New("not a backup: the file is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("not a backup: %w", err)
	}
	read := &reading{tar: tar.NewReader(zip), each: each, streams: make(map[string]bool)}
	for !read.ended {
		if err := read.next(); err != nil {
			return nil, err
		}
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(zip, 1<<20)); err != nil { // gzip compares its checksum at the end
		return nil, fmt.Errorf("the end of the backup: %w", err)
	}
	return &read.summary, nil
}

type reading struct {
	tar     *tar.Reader
	each    func(stream, name string, data []byte) error
	files   []File
	streams map[string]bool
	summary Summary
	ended   bool
}

func (r *reading) next() error {
	h, err := r.tar.Next()
	if errors.Is(err, io.EOF) {
		return errors.New("the backup is incomplete: its manifest is missing")
	}
	if err != nil {
		return fmt.Errorf("the backup is damaged: %w", err)
	}
	limit := int64(maxFile)
	if h.Name == manifestName {
		limit = maxManifest
	}
	if h.Typeflag != tar.TypeReg || h.Size < 0 || h.Size > limit {
		return fmt.Errorf("the backup has an entry %.200q of type %q with %d bytes, which no engine writes", h.Name, h.Typeflag, h.Size)
	}
	data, err := io.ReadAll(io.LimitReader(r.tar, h.Size))
	if err == nil && int64(len(data)) != h.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("the backup is damaged in %.200q: %w", h.Name, err)
	}
	if h.Name == manifestName {
		return r.end(data)
	}
	return r.file(h.Name, data)
}

func (r *reading) file(name string, data []byte) error {
	m := layout().FindStringSubmatch(name)
	if m == nil {
		return fmt.Errorf("the backup has an entry %.200q, which no engine writes", name)
	}
	stream := m[1]
	if m[3] != "" {
		n, err := strconv.ParseUint(m[3], 10, 32)
		if err != nil {
			return fmt.Errorf("the backup has an entry %.200q: %w", name, err)
		}
		messages, damage := blocks.Messages(stream, uint32(n), data)
		if len(damage) > 0 {
			return fmt.Errorf("stream %s, block %d has bytes that are not a record, from %d to %d: `patchbay engine repair` recovers the undamaged messages",
				stream, n, damage[0].From, damage[0].To)
		}
		r.summary.Blocks++
		r.summary.Records += messages
	}
	if !r.streams[stream] {
		r.streams[stream] = true
		r.summary.Streams++
	}
	sum := sha256.Sum256(data)
	r.files = append(r.files, File{name, int64(len(data)), hex.EncodeToString(sum[:])})
	r.summary.Bytes += int64(len(data))
	return r.each(stream, strings.TrimPrefix(name, "streams/"+stream+"/"), data)
}

// end compares the files that were read with the manifest.
func (r *reading) end(text []byte) error {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("manifest of the backup: %w", err)
	}
	if m.Version != version {
		return fmt.Errorf("the backup has format %d, and this program reads format %d", m.Version, version)
	}
	if !slices.Equal(m.Files, r.files) {
		return errors.New("the backup is damaged: its files are not those of its manifest")
	}
	r.summary.Created, r.ended = m.Created, true
	return nil
}
