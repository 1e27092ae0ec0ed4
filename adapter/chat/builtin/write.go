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
	p, name, err := openPlace(call, args.Path)
	if err != nil {
		return "", err
	}
	defer p.Close()
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

// replace gives a file new content and reports whether it existed before.
func (p *place) replace(path, name string, content []byte) (existed bool, err error) {
	info, err := p.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, p.refusalOrNil(path, p.create(name, content, nil))
	case err != nil:
		return false, p.refusal(path, err)
	case info.Mode()&fs.ModeSymlink != 0: // it stays a link; the system finds out where it leads
		return true, p.overwrite(path, name, content)
	}
	if err := checkWritable(path, info); err != nil {
		return true, err
	}
	return true, p.refusalOrNil(path, p.create(name, content, info))
}

// refusalOrNil is like refusal, for an error that may be nil.
func (p *place) refusalOrNil(path string, err error) error {
	if err == nil {
		return nil
	}
	return p.refusal(path, err)
}

// checkWritable explains why a file must not be overwritten. A read-only file is left alone,
// although replacing it would only need permission to write its directory.
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

// create writes a temporary file beside the target and renames it, so that a reader finds the old
// or the new content whole. Both are in one directory, opened once, which cannot be exchanged
// meanwhile. old is the present file; nil if there is none.
func (p *place) create(name string, content []byte, old fs.FileInfo) error {
	dir, base := filepath.Split(name)
	dir = filepath.Clean(dir)
	if err := p.MkdirAll(dir, 0o777); err != nil { // as mkdir does: the umask applies
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
	f, err := p.OpenFile(name, os.O_WRONLY|openNonblock, 0) // not truncated yet: the file may have been exchanged
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
