package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

const readDescription = `Read a text file of the working directory. The content comes as it is, without line numbers. ` +
	`At most 256 KiB are shown; a note at the end says how to read on.`

const readParameters = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "The file, relative to the working directory (or absolute, inside it)."},
		"offset": {"type": "integer", "minimum": 1, "description": "The line to start at, counted from 1. Default: 1."},
		"limit": {"type": "integer", "minimum": 1, "description": "How many lines to read. Default: all that fit."}
	},
	"required": ["path"],
	"additionalProperties": false
}`

type readArgs struct {
	Path   string `json:"path"`
	Offset number `json:"offset"`
	Limit  number `json:"limit"`
}

// maxLines limits offset and limit. No file has as many lines.
const maxLines = 1 << 40

// files holds the tools that read and change files.
type files struct {
	log *slog.Logger

	// change is held while a file is changed. The agent runs several calls at once: of two edits of
	// one file at the same time, the later would undo the earlier.
	change sync.Mutex
}

func (f *files) read(ctx context.Context, call chat.Call, args readArgs) (string, error) {
	p, name, err := openPlace(call, args.Path)
	if err != nil {
		return "", err
	}
	defer p.Close()
	file, info, err := p.openFile(args.Path, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	e := passage{src: bufio.NewReaderSize(file, 64<<10), first: max(1, args.Offset.whole(maxLines)), limit: args.Limit.whole(maxLines)}
	if err := e.take(ctx); err != nil {
		return "", fmt.Errorf("%s: %w", quoted(args.Path), err)
	}
	return e.show(info.Size()), nil
}

// A passage is a range of lines in a file.
type passage struct {
	src   *bufio.Reader
	first int // the first line, counted from 1
	limit int // how many; 0: all

	text  []byte // the lines, or as many of them as can be shown
	lines int    // how many lines text has
	more  bool   // the file continues after them
	torn  bool   // text ends inside a line that is too long to be shown whole
}

// take reads the passage.
func (e *passage) take(ctx context.Context) error {
	if err := e.sniff(); err != nil {
		return err
	}
	passed, err := e.skip(ctx)
	if err != nil {
		return err
	}
	if err := e.gather(); err != nil {
		return err
	}
	e.fit()
	if e.lines == 0 && e.first > 1 {
		return fmt.Errorf("it has only %s, and line %d was asked for", plural(passed, "line"), e.first)
	}
	if bytes.IndexByte(e.text, 0) >= 0 {
		return errBinary
	}
	return nil
}

var errBinary = errors.New("it is a binary file, not text: look at it with shell (file, xxd, strings)")

// sniff refuses a file that does not begin like text. It looks at 8,000 bytes, as git does.
func (e *passage) sniff() error {
	head, err := e.src.Peek(8000)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return errors.New("it is UTF-16 text: convert it with shell (iconv -f UTF-16 -t UTF-8)")
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return errBinary
	}
	return nil
}

// skip reads the lines before the first one, and returns how many there were.
func (e *passage) skip(ctx context.Context) (passed int, err error) {
	begun := false // part of a line was read
	for passed < e.first-1 {
		chunk, err := e.src.ReadSlice('\n')
		switch {
		case err == nil:
			passed, begun = passed+1, false
		case errors.Is(err, io.EOF):
			if begun || len(chunk) > 0 {
				passed++
			}
			return passed, nil
		case errors.Is(err, bufio.ErrBufferFull):
			begun = true
		default:
			return passed, err
		}
		if ctx.Err() != nil { // the file may be long
			return passed, context.Cause(ctx)
		}
	}
	return passed, nil
}

// gather reads lines until there are enough, or more than can be shown.
func (e *passage) gather() error {
	for begun := false; len(e.text) <= shownMax && (begun || e.limit == 0 || e.lines < e.limit); {
		chunk, err := e.src.ReadSlice('\n')
		e.text = append(e.text, chunk...)
		switch {
		case err == nil:
			e.lines, begun = e.lines+1, false
		case errors.Is(err, bufio.ErrBufferFull):
			begun = true
		case errors.Is(err, io.EOF):
			if begun || len(chunk) > 0 {
				e.lines++
			}
			return nil
		default:
			return err
		}
	}
	_, err := e.src.Peek(1)
	e.more = err == nil
	return nil
}

// fit removes lines until there is room for the note. It cuts a single line that is too long.
func (e *passage) fit() {
	const room = shownMax - noteRoom
	if len(e.text) <= room || len(e.text) <= shownMax && !e.more {
		return
	}
	e.more = true
	if end := bytes.LastIndexByte(e.text[:room], '\n') + 1; end > 0 {
		e.text = e.text[:end]
		e.lines = bytes.Count(e.text, []byte{'\n'})
		return
	}
	e.torn, e.lines = true, 1
	e.text = []byte(excerpt.Head(string(e.text), room))
}

// show returns the passage as the model reads it: the text, and a note if it is not the whole file.
func (e *passage) show(fileSize int64) string {
	text := string(e.text)
	last := e.first + e.lines - 1
	switch {
	case text == "":
		return note("", "the file is empty")
	case e.torn:
		text = note(text, "line %d is longer than can be shown: use shell to see the rest of it (tail -c), "+
			"or go on after it with offset %d", last, last+1)
	case e.more:
		text = note(text, "lines %d to %d of a file of %s: read on with offset %d", e.first, last, size(fileSize), last+1)
	}
	if !utf8.ValidString(text) {
		text = note(text, "the file is not valid UTF-8: invalid bytes are shown as %c", utf8.RuneError)
	}
	return text
}
