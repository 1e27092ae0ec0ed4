package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Recording is a recording that was read and checked.
type Recording struct {
	Header
	Entries     []Entry // without those that were left out
	LeftOut     int
	Interrupted bool
	Cut         string // why it is incomplete; "": it is complete
}

// ErrCut reports that a recording has no end: its command was killed, or the file was cut off.
var ErrCut = errors.New("the recording is incomplete")

// A FileError reports that a file is not a readable recording. It names the line.
type FileError struct {
	Path string
	Line int
	Err  error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// Read reads a recording. For an incomplete one it returns [ErrCut], or, if partial is set, the
// part that can be read.
func Read(path string, partial bool) (*Recording, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &reader{lines: lineReader(f)}
	if err := r.read(); err != nil {
		return nil, &FileError{path, r.line, err}
	}
	if r.out.Cut != "" && !partial {
		return nil, &FileError{path, r.line, fmt.Errorf("%w: %s", ErrCut, r.out.Cut)}
	}
	return &r.out, nil
}

func openFile(path string) (*os.File, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Size() > maxFile+maxLine {
		return nil, errors.Join(&FileError{path, 0, fmt.Errorf("it has %d MiB, and a recording has at most %d MiB", info.Size()>>20, maxFile>>20)}, f.Close())
	}
	return f, nil
}

func lineReader(r io.Reader) *bufio.Reader {
	return bufio.NewReaderSize(io.LimitReader(r, maxFile+maxLine), 64<<10)
}

// checkHeader checks the first line of a file.
func checkHeader(path string) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := &reader{lines: lineReader(f)}
	line, err := r.next()
	if err != nil {
		return err
	}
	return r.header(line)
}

// A reader reads one file.
type reader struct {
	lines *bufio.Reader
	line  int // the number of the last line
	seen  int // events and calls, also those that were left out
	out   Recording
	ended bool
}

func (r *reader) read() error {
	line, err := r.next()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if err != nil {
		return fmt.Errorf("it is empty, or not a recording: %w", err)
	}
	if err := r.header(line); err != nil {
		return err
	}
	for !r.ended {
		line, err := r.next()
		if errors.Is(err, errHalf) || errors.Is(err, io.EOF) {
			r.out.Cut = cutOff(err)
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.body(line); err != nil {
			return err
		}
	}
	if _, err := r.next(); !errors.Is(err, io.EOF) {
		return errors.New("there are lines after the end")
	}
	return nil
}

var errHalf = errors.New("the last line is cut off")

func cutOff(err error) string {
	if errors.Is(err, errHalf) {
		return errHalf.Error()
	}
	return "its last line is missing"
}

// next returns the next line. A last line without a newline is errHalf.
func (r *reader) next() ([]byte, error) {
	r.line++
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return nil, errHalf
		default:
			return nil, err
		}
	}
}

func (r *reader) header(line []byte) error {
	var h Header
	if rawjson.CheckWithin(line, rawjson.MaxForeign) != nil || json.Unmarshal(line, &h) != nil || h.Type != typeHeader {
		return errors.New(`it is not a recording: the first line of one begins with {"type":"recording"`)
	}
	if h.Version != Version {
		return fmt.Errorf("it is a recording of version %d, and this patchbay reads version %d: record it again", h.Version, Version)
	}
	r.out.Header = h
	return nil
}

// body reads any line but the first.
func (r *reader) body(line []byte) error {
	var e Entry
	if err := unmarshal(line, &e); err != nil {
		return err
	}
	switch e.Type {
	case typeEnd:
		return r.end(line)
	case typeLeftOut:
		r.seen++
		r.out.LeftOut++
	case typePlugins:
		var more pluginsLine
		if err := unmarshal(line, &more); err != nil {
			return err
		}
		r.out.Plugins = append(r.out.Plugins, more.Plugins...)
	case string(pluginhost.EventTraffic), string(pluginhost.ToolTraffic), string(pluginhost.MethodTraffic), string(pluginhost.CommandTraffic):
		return r.entry(e)
	default:
		return fmt.Errorf("a line of type %.40q is unknown", e.Type)
	}
	return nil
}

func unmarshal(line []byte, v any) error {
	if err := rawjson.CheckWithin(line, 3*rawjson.MaxForeign); err != nil { // a payload in an entry
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("it is not a line of a recording: %w", err)
	}
	return nil
}

func (r *reader) entry(e Entry) error {
	if len(r.out.Entries) >= maxEntries {
		return fmt.Errorf("there are more than %d events and calls", maxEntries)
	}
	if err := e.check(); err != nil {
		return err
	}
	r.seen++
	r.out.Entries = append(r.out.Entries, e)
	return nil
}

// check returns what an event or call lacks.
func (e *Entry) check() error {
	if e.Type != string(pluginhost.EventTraffic) {
		if e.Plugin == "" || e.Name == "" {
			return fmt.Errorf("the %s has no plugin or no name", e.Type)
		}
		return nil
	}
	if _, ok := e.Point.Spec(); !ok {
		return fmt.Errorf("there is no point %.60q", e.Point)
	}
	for _, s := range e.Steps {
		if s.Plugin == "" || s.Hook == "" || s.Nth < 0 {
			return errors.New("a step has no plugin or no hook")
		}
	}
	return nil
}

func (r *reader) end(line []byte) error {
	var end ending
	if err := unmarshal(line, &end); err != nil {
		return err
	}
	r.ended, r.out.Interrupted = true, end.Interrupted
	r.out.LeftOut = max(r.out.LeftOut, end.LeftOut)
	if r.seen != end.Entries {
		return fmt.Errorf("it has %d events and calls, and its end counts %d: lines are missing, or were added", r.seen, end.Entries)
	}
	return nil
}
