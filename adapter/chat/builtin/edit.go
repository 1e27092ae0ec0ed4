package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/chat"
)

const editDescription = `Change a part of a text file of the working directory: put new in the place of old. ` +
	`old must be copied from the file exactly, whitespace included, with enough lines around it that it occurs once; ` +
	`or set all to change every occurrence. ` +
	`The result shows what changed.`

const editParameters = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "The file, relative to the working directory (or absolute, inside it)."},
		"old": {"type": "string", "description": "The text to be replaced, exactly as it is in the file."},
		"new": {"type": "string", "description": "The text to put in its place; empty to delete it."},
		"all": {"type": "boolean", "description": "Replace every occurrence of old. Default: false, and old must occur exactly once."}
	},
	"required": ["path", "old", "new"],
	"additionalProperties": false
}`

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  flag   `json:"all"`
}

const (
	// editMax is the largest size of a file that can be edited, before and after. The file is held
	// in memory a few times. Files that people write are a hundredth of it.
	editMax = 16 << 20

	// occurMax is how many occurrences an edit may have.
	occurMax = 100_000
)

func (f *files) edit(_ context.Context, call chat.Call, args editArgs) (string, error) {
	switch {
	case args.Old == "":
		return "", errors.New("old is empty: say which text is to be replaced, or use write_file to write the whole file")
	case args.Old == args.New:
		return "", errors.New("old and new are the same: there is nothing to change")
	}
	p, name, err := openPlace(call, args.Path)
	if err != nil {
		return "", err
	}
	defer p.Close()
	f.change.Lock()
	defer f.change.Unlock()
	content, err := p.content(args.Path, name)
	if err != nil {
		return "", err
	}
	e, err := planEdit(content, args)
	if err != nil {
		return "", fmt.Errorf("%s: %w", quoted(args.Path), err)
	}
	if _, err := p.replace(args.Path, name, []byte(e.after())); err != nil {
		return "", err
	}
	f.log.Debug("file edited", "path", name, "session", call.Session.ID)
	return fmt.Sprintf("edited %s: %s\n%s", filepath.ToSlash(name), plural(len(e.at), "replacement"), e.snippet()), nil
}

// content returns the content of a text file.
func (p *place) content(path, name string) (string, error) {
	file, info, err := p.openFile(path, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	tooLarge := func(n int64) error {
		return fmt.Errorf("%s has %s, too much to be edited: use shell (sed)", quoted(path), size(n))
	}
	if info.Size() > editMax {
		return "", tooLarge(info.Size())
	}
	content, err := io.ReadAll(io.LimitReader(file, editMax+1))
	switch {
	case err != nil:
		return "", p.refusal(path, err)
	case len(content) > editMax: // the file has grown meanwhile; writing this part back would cut it
		return "", tooLarge(int64(len(content)))
	case strings.IndexByte(string(content), 0) >= 0:
		return "", fmt.Errorf("%s: %w", quoted(path), errBinary)
	}
	return string(content), nil
}

// An edit replaces one text with another, at some places of a content.
type edit struct {
	content  string
	old, new string
	at       []int // where old begins, in order; they do not overlap
}

// planEdit returns the edit, or why it cannot be made.
func planEdit(content string, args editArgs) (*edit, error) {
	e := &edit{content: content, old: args.Old, new: args.New}
	e.matchLineEnds()
	found := occurrences(content, e.old, 1)
	switch {
	case len(found) > occurMax:
		return nil, fmt.Errorf("old occurs more than %d times: use shell (sed)", occurMax)
	case len(found) == 0:
		return nil, fmt.Errorf("old does not occur in it%s", nearMiss(content, e.old))
	case len(found) > 1 && !bool(args.All):
		return nil, fmt.Errorf("old occurs %d times (at %s): give more of the lines around it so that it occurs once, "+
			"or set all to true", len(found), lineList(content, found))
	}
	e.at = occurrences(content, e.old, len(e.old))
	if grown := int64(len(content)) + int64(len(e.at))*int64(len(e.new)-len(e.old)); grown > editMax {
		return nil, fmt.Errorf("it would have %s then, too much to be edited: use shell (sed)", size(grown))
	}
	return e, nil
}

// matchLineEnds gives old and new the line ends of the file, because models always write \n. In a
// file with both kinds, old and new are not changed if old occurs as the model wrote it.
func (e *edit) matchLineEnds() {
	crlf := strings.Count(e.content, "\r\n")
	pure := crlf > 0 && crlf == strings.Count(e.content, "\n")
	if pure || crlf > 0 && !strings.Contains(e.content, e.old) {
		e.old, e.new = toCRLF(e.old), toCRLF(e.new)
	}
}

func toCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// occurrences returns the offsets at which text occurs. It continues step bytes after each, so that
// with step 1 it also finds occurrences that overlap. It stops when it has found more than
// occurMax.
func occurrences(content, text string, step int) []int {
	var found []int
	for from := 0; len(found) <= occurMax; {
		i := strings.Index(content[from:], text)
		if i < 0 {
			break
		}
		found = append(found, from+i)
		from += i + step
	}
	return found
}

// lineList returns "lines 3, 8, 12", or the first few of them.
func lineList(content string, offsets []int) string {
	const few = 8
	var lines []string
	line, from := 1, 0
	for _, at := range offsets[:min(few, len(offsets))] {
		line, from = line+strings.Count(content[from:at], "\n"), at
		lines = append(lines, strconv.Itoa(line))
	}
	if len(offsets) > few {
		lines = append(lines, "…")
	}
	return "lines " + strings.Join(lines, ", ")
}

// after returns the content after the edit.
func (e *edit) after() string {
	var b strings.Builder
	from := 0
	for _, at := range e.at {
		b.WriteString(e.content[from:at])
		b.WriteString(e.new)
		from = at + len(e.old)
	}
	b.WriteString(e.content[from:])
	return b.String()
}
