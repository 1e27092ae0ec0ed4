package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

const writeDescription = `Write a file of the working directory: make it, with the directories above it, or replace all of its ` +
	`content. To change a part of a file use edit_file.`

const writeParameters = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "The file, relative to the working directory (or absolute, inside it)."},
		"content": {"type": "string", "description": "All that the file is to contain."}
	},
	"required": ["path", "content"],
	"additionalProperties": false
}`

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (f *files) write(_ context.Context, call chat.Call, args writeArgs) (string, error) {
	p, err := openPlace(call)
	if err != nil {
		return "", err
	}
	defer p.Close()
	name, err := p.within(args.Path)
	if err != nil {
		return "", err
	}
	if name == "." || strings.HasSuffix(args.Path, "/") {
		return "", fmt.Errorf("%s names a directory, not a file", quoted(args.Path))
	}
	f.change.Lock()
	defer f.change.Unlock()
	existed, err := p.replace(args.Path, name, []byte(args.Content))
	if err != nil {
		return "", err
	}
	f.log.Debug("file written", "path", name, "session", call.Session.ID)
	did := "made"
	if existed {
		did = "replaced"
	}
	lines := strings.Count(strings.TrimSuffix(args.Content, "\n")+"\n", "\n")
	if args.Content == "" {
		lines = 0
	}
	return fmt.Sprintf("%s %s: %s, %d bytes\n", did, filepath.ToSlash(name), plural(lines, "line"), len(args.Content)), nil
}

// replace gives a file new content and reports whether there was one before.
func (p *place) replace(path, name string, content []byte) (existed bool, err error) {
	info, err := p.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, p.refusalOrNil(path, p.create(name, content, nil))
	case err != nil:
		return false, p.refusal(path, err)
	case info.Mode()&fs.ModeSymlink != 0: // it stays one, and where it leads is for the system to find out
		return true, p.overwrite(path, name, content)
	}
	if err := checkWritable(path, info); err != nil {
		return true, err
	}
	return true, p.refusalOrNil(path, p.create(name, content, info))
}

// refusalOrNil is refusal, where there may be no error.
func (p *place) refusalOrNil(path string, err error) error {
	if err == nil {
		return nil
	}
	return p.refusal(path, err)
}

// checkWritable is the error of what is no file to be written. One that nobody may write is left alone,
// although replacing it needs leave to write its directory only.
func checkWritable(path string, info fs.FileInfo) error {
	if err := checkRegular(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%s is read-only (mode %s): change that with shell (chmod u+w) if it is meant to be written",
			quoted(path), info.Mode().Perm())
	}
	return nil
}

// create writes a file beside the one that is meant and renames it, so that whoever reads finds the
// old or the new content whole. All of it takes place in one directory, opened once: it cannot be
// swapped on the way. old is what the file was until now, nil where there is none.
func (p *place) create(name string, content []byte, old fs.FileInfo) error {
	dir, base := filepath.Split(name)
	dir = filepath.Clean(dir)
	if err := p.MkdirAll(dir, 0o777); err != nil { // as mkdir does: the umask takes off what the user wants off
		return err
	}
	parent, err := p.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer parent.Close()
	o := atomicfile.Options{Mode: 0o666, Masked: true}
	if old != nil {
		o = atomicfile.Options{Mode: old.Mode().Perm()}
	}
	return atomicfile.WriteIn(parent, base, content, o)
}

// overwrite writes to the file that a link leads to, in place.
func (p *place) overwrite(path, name string, content []byte) error {
	info, err := p.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is a link to a file that does not exist: write that one, or remove the link", quoted(path))
	}
	if err != nil {
		return p.refusal(path, err)
	}
	if err := checkWritable(path, info); err != nil {
		return err
	}
	f, err := p.OpenFile(name, os.O_WRONLY|openNonblock, 0) // not truncated yet: it may have been swapped
	if err != nil {
		return p.refusal(path, err)
	}
	return errors.Join(rewrite(path, f, content), f.Close())
}

// rewrite replaces the content of an open file.
func rewrite(path string, f *os.File, content []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := checkRegular(path, info); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = bytes.NewReader(content).WriteTo(f)
	return err
}
