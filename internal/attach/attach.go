package attach

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// The bounds on what is attached to one message. maxFile is what the tool read_file shows at once.
// maxAll is far below a model's context, and leaves room for the conversation.
const (
	maxFile  = 256 << 10
	maxAll   = 512 << 10
	maxFiles = 20
)

// A Message is a message with its attachments.
type Message struct {
	Text     string   // the whole text, as the agent gets it
	Attached []string // the paths of the attached files
	Left     []string // what was not attached, and why; one sentence each
}

// Compose attaches the mentioned files, relative to the working directory dir. The text itself
// comes first, unchanged.
func Compose(dir, text string, mentions []string) Message {
	m := Message{Text: text}
	if len(mentions) == 0 {
		return m
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		m.Left = []string{fmt.Sprintf("no file was attached: %v", err)}
		return m
	}
	defer root.Close()
	size := 0
	for _, word := range mentions {
		path, content, err := find(root, word)
		switch {
		case err != nil:
			m.Left = append(m.Left, fmt.Sprintf("@%s was not attached: %v", excerpt.Of(word, 200), err))
		case len(m.Attached) == maxFiles || size+len(content) > maxAll:
			m.Left = append(m.Left, fmt.Sprintf("@%s was not attached: a message has at most %d files and %d KiB", path, maxFiles, maxAll>>10))
		default:
			size += len(content)
			m.Attached = append(m.Attached, path)
			m.Text += "\n\n" + File(path, content)
		}
	}
	return m
}

// find reads the file that a mention means.
func find(root *os.Root, word string) (path, text string, err error) {
	for i, reading := range readings(word) {
		path = filepath.ToSlash(filepath.Clean(reading))
		found, readErr := read(root, reading)
		if readErr == nil {
			return path, found, nil
		}
		if i == 0 || !errors.Is(readErr, fs.ErrNotExist) {
			err = readErr
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no such file")
	}
	return path, "", err
}

var (
	errOutside = errors.New("it is outside of the working directory")
	errBinary  = errors.New("it is not a text file")
)

// read reads a text file below root.
func read(root *os.Root, path string) (string, error) {
	name := filepath.Clean(path)
	if strings.ContainsRune(path, 0) || strings.HasPrefix(path, "~") || !filepath.IsLocal(name) {
		return "", errOutside
	}
	f, err := plainfile.OpenIn(root, name)
	if err != nil {
		return "", plainError(err)
	}
	defer f.Close()
	content, err := plainfile.ReadFrom(f, maxFile)
	if _, ok := errors.AsType[*plainfile.SizeError](err); ok {
		return "", fmt.Errorf("it is larger than %d KiB; the model can read parts of it", maxFile>>10)
	}
	switch {
	case err != nil:
		return "", plainError(err)
	case bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content):
		return "", errBinary
	}
	return string(content), nil
}

// plainError returns an error without the path, which the caller names.
func plainError(err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case errors.Is(err, plainfile.ErrKind):
		return errors.New("it is not a regular file")
	case err.Error() == "path escapes from parent": // os has no variable for this error
		return errOutside
	}
	return err
}
