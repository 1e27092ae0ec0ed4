package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/filelock"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/trust"
	"github.com/patchbay-dev/patchbay/internal/version"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// partialSuffix is added to the name of an unfinished recording.
const partialSuffix = ".partial"

// ErrNotOurs reports that the file exists and is not a recording. It is not overwritten.
var ErrNotOurs = errors.New("the file exists and is not a recording")

// ErrBusy reports that another process records to the same file.
var ErrBusy = errors.New("another command records to this file")

// Options are the options of a recording.
type Options struct {
	Command   []string // as the user typed it
	PluginsOf string   // see [Header]
}

// A Recorder writes a recording. It is safe for concurrent use.
type Recorder struct {
	path  string
	began time.Time

	mu       sync.Mutex // protects the fields below
	to       io.Writer  // nil: closed
	file     *os.File   // FILE.partial, which is locked; the field to is the same file. nil: the caller gave a stream
	header   Header
	headed   bool                             // the header is written
	known    map[string]bool                  // plugins that are already written, by dialect and name
	scrubs   map[*pluginhost.Hidden]*scrubber // one for each set of secrets: they change when the files are read again
	size     int64
	entries  int
	events   int // without those that were left out
	calls    int // without those that were left out
	leftOut  int
	limit    int64 // of the whole file
	writeErr error // the first error
}

// A Summary is the result of a recording.
type Summary struct {
	File    string `json:"file"`
	Events  int    `json:"events"`
	Calls   int    `json:"calls"` // of tools, methods and commands
	LeftOut int    `json:"left_out"`
	Bytes   int64  `json:"bytes"`
}

// Create begins a recording in FILE.partial. [Recorder.Close] renames it; until then an existing
// recording stays.
func Create(path string, o Options) (*Recorder, error) {
	if err := overwritable(path); err != nil {
		return nil, err
	}
	file, err := openPartial(path + partialSuffix)
	if err != nil {
		return nil, err
	}
	r := newRecorder(file, o)
	r.path, r.file = path, file
	return r, nil
}

func newRecorder(to io.Writer, o Options) *Recorder {
	r := &Recorder{began: time.Now(), to: to, limit: maxFile,
		known: make(map[string]bool), scrubs: make(map[*pluginhost.Hidden]*scrubber)}
	r.header = Header{Type: typeHeader, Version: Version, Patchbay: version.Number, Recorded: r.began.UTC().Truncate(time.Second),
		Command: o.Command, PluginsOf: o.PluginsOf, Plugins: []Plugin{}}
	return r
}

// overwritable explains why path must not be overwritten. Only a recording or an empty file may be.
func overwritable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular() && info.Size() == 0:
		return nil
	}
	if err := checkHeader(path); err != nil {
		return fmt.Errorf("%s: %w", path, ErrNotOurs)
	}
	return nil
}

// openPartial opens the unfinished file. It empties one that a killed recorder left behind, but no
// other file.
func openPartial(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrNotOurs)
	}
	if err := overwritable(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	err = filelock.Try(f)
	if errors.Is(err, filelock.ErrLocked) {
		err = fmt.Errorf("%s: %w", path, ErrBusy)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Record writes one event or call. It never fails: [Recorder.Close] returns the error.
func (r *Recorder) Record(t *pluginhost.Traffic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writeErr != nil || r.to == nil {
		return
	}
	s := r.scrubber(t.Host.Hidden())
	r.addPlugins(t.Host, s)
	r.add(newEntry(t, r.began, s))
}

// add numbers an entry and writes it. If it does not fit, add writes a line that says so. When the
// file is full, add only counts the entry as left out.
func (r *Recorder) add(e Entry) {
	if e.Dir == r.header.Dir {
		e.Dir = ""
	}
	if r.entries >= maxEntries || r.size >= r.limit {
		r.leftOut++
		return
	}
	r.entries++
	e.N = r.entries
	line := encodeLine(e)
	switch {
	case len(line) > maxLine || r.size+int64(len(line)) > r.limit:
		r.leftOut++
		line = encodeLine(Entry{Type: typeLeftOut, N: e.N, AtUS: e.AtUS, Point: e.Point, Plugin: e.Plugin, Name: e.Name,
			Why: fmt.Sprintf("%d bytes are too long: a line has %d MiB at most, a recording %d MiB", len(line), maxLine>>20, r.limit>>20)})
	case e.Type == typeLeftOut:
		r.leftOut++
	case e.Type == string(pluginhost.EventTraffic):
		r.events++
	default:
		r.calls++
	}
	r.write(line)
}

func (r *Recorder) scrubber(h *pluginhost.Hidden) *scrubber {
	if r.scrubs[h] == nil {
		r.scrubs[h] = newScrubber(h.Texts)
	}
	return r.scrubs[h]
}

// addPlugins writes the plugins of a host that are not written yet. The first ones are in the
// header.
func (r *Recorder) addPlugins(h *pluginhost.Host, s *scrubber) {
	var found []Plugin
	for _, p := range h.Plugins() {
		key := p.Dialect + ":" + p.Name
		if p.State != "ready" || r.known[key] {
			continue
		}
		r.known[key] = true
		sum, err := trust.Sum(p.Path)
		if err != nil {
			sum = "" // an MCP server has no files, and some plugins are too large
		}
		found = append(found, Plugin{Name: p.Name, Dialect: p.Dialect, Version: p.Version, Path: p.Path, SHA256: sum})
	}
	switch {
	case !r.headed:
		r.header.Dir, r.header.Home = h.Dir(), h.Home()
		r.header.Plugins = append(r.header.Plugins, found...)
		r.writeHeader(s)
	case len(found) > 0:
		r.write(encodeLine(pluginsLine{typePlugins, found}))
	}
}

func (r *Recorder) writeHeader(s *scrubber) {
	r.headed = true
	head := r.header
	head.Command = make([]string, len(r.header.Command))
	for i, word := range r.header.Command {
		head.Command[i] = s.long.Clean(word)
	}
	r.write(encodeLine(head))
}

// write writes one line with one call.
func (r *Recorder) write(line []byte) {
	if r.writeErr != nil {
		return
	}
	n, err := r.to.Write(line)
	r.size += int64(n)
	r.writeErr = err
}

// encodeLine returns a value as one line. People read the lines, so <, > and & are not escaped.
func encodeLine(v any) []byte {
	text, err := rawjson.Marshal(v)
	if err != nil { // a plugin's JSON was checked before: only its depth can exceed the limit
		return encodeLine(Entry{Type: typeLeftOut, Why: err.Error()})
	}
	return append(text, '\n')
}

// Close ends the recording: it writes the last line and renames the file. If no plugin was called,
// or after an error, there is no new file, and an existing one stays.
func (r *Recorder) Close(interrupted bool) (Summary, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.headed {
		r.write(encodeLine(ending{typeEnd, r.entries, r.leftOut, interrupted}))
	}
	err := r.writeErr
	if r.file != nil {
		err = r.closeFile(err)
	}
	r.to, r.file = nil, nil
	switch {
	case err != nil:
		return Summary{}, fmt.Errorf("recording: %w", err)
	case !r.headed:
		return Summary{File: r.path}, nil
	}
	return Summary{File: r.path, Events: r.events, Calls: r.calls, LeftOut: r.leftOut, Bytes: r.size}, nil
}

// Discard ends an empty recording: there is no new file, and a stream gets no end.
func (r *Recorder) Discard() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		err = errors.Join(r.file.Close(), os.Remove(r.path+partialSuffix))
	}
	r.to, r.file = nil, nil
	return err
}

// closeFile renames the file. After an error, or if nothing was recorded, it removes it.
func (r *Recorder) closeFile(err error) error {
	if err == nil {
		err = r.file.Sync()
	}
	partial := r.path + partialSuffix
	err = errors.Join(err, r.file.Close())
	if err == nil && r.headed {
		if err = atomicfile.Adopt(partial, r.path); err == nil {
			return nil
		}
	}
	return errors.Join(err, os.Remove(partial))
}
