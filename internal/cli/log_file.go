package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// maxLogFile is the size at which a new log begins. One old log is kept, so a daemon uses at most
// twice that size.
const maxLogFile = 4 << 20

// A logFile is the log of a daemon. At maxLogFile it is renamed to NAME.1, over the old one, and a
// new file begins.
type logFile struct {
	path  string
	fault func(error) // called once when lines are lost; may be nil

	mu   sync.Mutex // protects the fields below
	file *os.File
	size int64
}

// openLogFile opens a log in the state directory, and appends to it.
func openLogFile(dir, name string) (*logFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &logFile{path: filepath.Join(dir, name)}
	if info, err := os.Lstat(l.path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("log %s: %w", l.path, plainfile.ErrKind)
	}
	return l, l.open()
}

func (l *logFile) open() (err error) {
	if l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	info, err := l.file.Stat()
	if err == nil {
		l.size = info.Size()
	}
	return err
}

// writeAddress writes that the daemon answers. Stderr does not need this line, because stdout has
// it.
func (l *logFile) writeAddress(address string) {
	if l != nil {
		_, _ = fmt.Fprintf(l, "%s info: the daemon answers on %s (process %d, version %s)\n", time.Now().Format(time.DateTime), address, os.Getpid(), pluginhost.Version) // fault has reported the error
	}
}

// writeFailure writes why the daemon ended, or did not start. Stderr does not need this line,
// because the command reports the error there.
func (l *logFile) writeFailure(text string) {
	if l != nil {
		_, _ = fmt.Fprintf(l, "%s error: %s\n", time.Now().Format(time.DateTime), render.Line(strings.ReplaceAll(text, "\n", "; "))) // fault has reported the error
	}
}

// Write appends whole lines.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.add(p)
	if err != nil && l.fault != nil {
		l.fault(err)
		l.fault = nil
	}
	return n, err
}

func (l *logFile) add(p []byte) (int, error) {
	if l.size > 0 && l.size+int64(len(p)) > maxLogFile {
		if err := errors.Join(l.file.Close(), os.Rename(l.path, l.path+".1"), l.open()); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

// A logReader reads the lines of a log, and follows new ones.
type logReader struct {
	path string
	each func(line string) error

	file *os.File
	rest []byte // the beginning of an incomplete line
}

// last calls each with the last n lines of the log.
func (r *logReader) last(n int) error {
	file, err := os.Open(r.path)
	if err != nil {
		return err
	}
	r.file = file
	var lines []string
	text := bufio.NewReader(file)
	for {
		line, err := text.ReadString('\n')
		if errors.Is(err, io.EOF) {
			r.rest = []byte(line)
			break
		}
		if err != nil {
			return err
		}
		if lines = append(lines, line[:len(line)-1]); len(lines) > n {
			lines = lines[1:]
		}
	}
	for _, line := range lines {
		if err := r.each(line); err != nil {
			return err
		}
	}
	return nil
}

// followLog is how often a reader looks for new lines.
const followLog = 200 * time.Millisecond

// follow calls each with new lines until ctx ends. It continues with a new file when one begins.
func (r *logReader) follow(ctx context.Context) error {
	for pause.For(ctx, followLog) == nil {
		if err := r.more(); err != nil {
			return err
		}
		now, err := os.Stat(r.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a new file is about to begin
		}
		if err != nil {
			return err
		}
		if own, err := r.file.Stat(); err != nil || os.SameFile(own, now) {
			continue
		}
		if err := errors.Join(r.more(), r.file.Close()); err != nil {
			return err
		}
		if r.file, err = os.Open(r.path); err != nil {
			return err
		}
	}
	return nil
}

// more calls each with the lines that are new.
func (r *logReader) more() error {
	text, err := io.ReadAll(r.file)
	if err != nil {
		return err
	}
	r.rest = append(r.rest, text...)
	for {
		advance, line, _ := bufio.ScanLines(r.rest, false) // ScanLines never fails
		if advance == 0 {
			return nil
		}
		if err := r.each(string(line)); err != nil {
			return err
		}
		r.rest = r.rest[advance:]
	}
}

func (r *logReader) close() {
	if r.file != nil {
		_ = r.file.Close() // only read, so an error loses nothing
	}
}
