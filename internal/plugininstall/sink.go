package plugininstall

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/trust"
)

// The limits of one installation. The lock cannot record more than mostFiles files.
const (
	mostFiles   = trust.MostFiles
	mostBytes   = 512 << 20
	mostFetched = 256 << 20 // of an archive, or of a repository's objects
	mostDepth   = 32
	mostName    = 1000
)

// A HostileError is returned for content that is not unpacked: it would lead out of its directory,
// hide something, or is not a file.
type HostileError struct{ Name, Why string }

func (e *HostileError) Error() string {
	return fmt.Sprintf("%.200q: %s; nothing was installed; %s", e.Name, e.Why, e.Fix())
}

// Fix returns how to fix it.
func (e *HostileError) Fix() string {
	return "install from a source without that file; if the source is not yours, tell its author"
}

func hostile(name, why string) error { return &HostileError{name, why} }

// A sink writes foreign files into a directory. Their names, links and modes have no effect outside
// of it: names are checked, each file is new, its parents are directories that the sink made, and
// the targets of links are checked.
type sink struct {
	root  *os.Root
	known map[string]fs.FileMode // what was made: by its name in lower case, as some file systems see it
	names map[string]string      // that name as it was written
	links []string
	files int
	most  int // files and directories
	size  int64
	read  func() int64 // returns how many bytes of the archive were read; nil: the source is not compressed
	notes []string
}

func newSink(dir string) (*sink, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &sink{root: root, most: mostFiles, known: make(map[string]fs.FileMode), names: make(map[string]string)}, nil
}

// clean checks a name and removes parts without effect. ok is false for a file that is left out,
// such as one in .git.
func clean(name string) (cleaned string, ok bool, err error) {
	trimmed := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	switch {
	case trimmed == "" || trimmed == ".":
		return "", false, nil
	case len(name) > mostName:
		return "", false, hostile(name, "its name is too long")
	case !utf8.ValidString(name):
		return "", false, hostile(name, "its name is not UTF-8")
	case strings.ContainsFunc(name, misleading):
		return "", false, hostile(name, "its name has control characters, or characters that change the direction of text")
	case strings.ContainsAny(name, `\:`):
		return "", false, hostile(name, `its name has a \ or a :, which lead elsewhere on some systems`)
	case strings.HasPrefix(name, "/"):
		return "", false, hostile(name, "its name is absolute")
	}
	parts := strings.Split(trimmed, "/")
	if len(parts) > mostDepth {
		return "", false, hostile(name, "it is nested too deep")
	}
	for _, p := range parts {
		switch {
		case p == "" || p == "." || p == "..":
			return "", false, hostile(name, "its name has a part that is empty, . or ..")
		case len(p) > 255 || strings.HasSuffix(p, ".") || strings.HasSuffix(p, " "):
			return "", false, hostile(name, "its name is not allowed on every system")
		case strings.EqualFold(p, ".git"):
			return "", false, nil
		}
	}
	return trimmed, true, nil
}

// misleading reports whether a character makes a name look like another one.
func misleading(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// enter records a name, and makes the directories above it. again reports that it is a directory
// that was made before.
func (s *sink) enter(name string, mode fs.FileMode) (again bool, err error) {
	if dir := path.Dir(name); dir != "." {
		if err := s.dir(dir); err != nil {
			return false, err
		}
	}
	key := strings.ToLower(name)
	was, there := s.known[key]
	switch {
	case there && was.IsDir() && mode.IsDir() && s.names[key] == name:
		return true, nil
	case there && s.names[key] != name:
		return false, hostile(name, fmt.Sprintf("it differs from %q only in upper and lower case", s.names[key]))
	case there:
		return false, hostile(name, "it exists twice")
	}
	if s.files++; s.files > s.most {
		return false, hostile(name, fmt.Sprintf("there are more than %d files", s.most))
	}
	s.known[key], s.names[key] = mode, name
	return false, nil
}

func (s *sink) dir(name string) error {
	again, err := s.enter(name, fs.ModeDir)
	if err != nil || again {
		return err
	}
	return s.root.Mkdir(name, 0o755)
}

// file writes a regular file. Of its mode only the right to execute is kept.
func (s *sink) file(name string, mode fs.FileMode, content io.Reader) (err error) {
	if _, err := s.enter(name, 0); err != nil {
		return err
	}
	if mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		s.notes = append(s.notes, name+": its setuid, setgid or sticky bit is left out")
	}
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := s.fill(f, name, content); err != nil {
		return err
	}
	return f.Chmod(perm) // whatever the umask is
}

// ratio is how many bytes one read byte may unpack to. Text that repeats itself can reach a few
// hundred.
const (
	ratio      = 400
	ratioAfter = 16 << 20 // below this size it is harmless
)

func (s *sink) fill(f *os.File, name string, content io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := content.Read(buf)
		s.size += int64(n)
		switch {
		case s.size > mostBytes:
			return hostile(name, fmt.Sprintf("there are more than %d MiB", mostBytes>>20))
		case s.read != nil && s.size > ratioAfter && s.size/ratio > s.read():
			return hostile(name, fmt.Sprintf("it unpacks to more than %d times its size", ratio))
		}
		if _, err := f.Write(buf[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// link makes a link to a place below the directory.
func (s *sink) link(name, target string) error {
	end := path.Join(path.Dir(name), target)
	switch {
	case target == "" || len(target) > mostName || strings.ContainsAny(target, `\:`) || strings.ContainsFunc(target, misleading) || !utf8.ValidString(target):
		return hostile(name, "it is a link with an invalid target")
	case path.IsAbs(target), end == "..", strings.HasPrefix(end, "../"):
		return hostile(name, fmt.Sprintf("it is a link that leads out, to %.100q", target))
	}
	if _, err := s.enter(name, fs.ModeSymlink); err != nil {
		return err
	}
	s.links = append(s.links, name)
	return s.root.Symlink(target, name)
}

// close checks where links lead, after all files were written: a link may lead through another.
func (s *sink) close() error {
	defer s.root.Close()
	for _, name := range s.links {
		if _, err := s.root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return hostile(name, "it is a link that leads out, through others: "+err.Error())
		}
	}
	return nil
}
