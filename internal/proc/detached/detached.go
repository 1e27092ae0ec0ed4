// Package detached starts the two kinds of processes that are not a host's children. A [Daemon]
// outlives the program that starts it, so it has its own session and no guardian. A [StandIn]
// answers instead of the program that was called: it gets the same input, and its output is passed
// on.
//
// Package proc starts all other processes.
package detached

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A Daemon describes the daemon to start.
type Daemon struct {
	Path string
	Args []string
	Env  []string // the whole environment
	Dir  string
	Log  *os.File // receives its stderr
}

// maxReady is the maximum length of the line by which a daemon reports that it is ready.
const maxReady = 4096

// Start starts a daemon and waits until it prints a line on its stdout, which means that it is
// ready. If the daemon ends before, Start returns an error. If ctx ends first, the daemon goes on
// running.
func (d Daemon) Start(ctx context.Context) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd := exec.Command(d.Path, d.Args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = d.Env, d.Dir, write, d.Log, detachedAttr()
	err = cmd.Start()
	_ = write.Close() // the daemon holds it now
	if err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // avoids a zombie as long as this process runs
	if at, ok := ctx.Deadline(); ok {
		_ = read.SetReadDeadline(at) // if the pipe has no deadlines, Start waits for the line or the end
	}
	stop := context.AfterFunc(ctx, func() { _ = read.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := readLine(read)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded): // the pipe's deadline, which may pass before that of ctx
		<-ctx.Done()
		return context.Cause(ctx)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s ended before it was ready%s", filepath.Base(d.Path), quoted(line))
	}
	return fmt.Errorf("%s did not become ready (%w)%s", filepath.Base(d.Path), err, quoted(line))
}

func readLine(r io.Reader) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) < maxReady {
		if _, err := r.Read(one); err != nil {
			return string(line), err
		}
		if one[0] == '\n' {
			return string(line), nil
		}
		line = append(line, one[0])
	}
	return string(line), errors.New("its first line is too long")
}

func quoted(line string) string {
	if line == "" {
		return ""
	}
	return fmt.Sprintf(": %.200q", line)
}

// A StandIn is a program that answers instead of the running program.
type StandIn struct {
	Path  string
	Args  []string
	Env   []string
	Dir   string
	Input []byte
	Most  int // the maximum size of its answer in bytes
}

// maxComplaint is the number of bytes of the program's stderr that are kept.
const maxComplaint = 1024

// Run runs the program to its end and returns its output. If ctx ends first, the program is asked
// to end, and then killed.
func (s StandIn) Run(ctx context.Context) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.Path, s.Args...)
	var out, complaint bounded
	out.most, complaint.most = s.Most, maxComplaint
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Env, s.Dir, bytes.NewReader(s.Input), &out, &complaint
	cmd.Cancel = func() error { return end(cmd.Process) }
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(s.Path), err, strings.TrimSpace(complaint.String()))
	}
	if out.over {
		return nil, fmt.Errorf("%s: its answer is longer than %d bytes", filepath.Base(s.Path), s.Most)
	}
	return out.Bytes(), nil
}

// A bounded buffer keeps the beginning of the data that is written to it.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := max(b.most-b.Len(), 0)
	if len(p) > room {
		b.over = true
	}
	b.Buffer.Write(p[:min(room, len(p))])
	return len(p), nil
}

// Beside finds a program in the directory of the running program, or else in the directories of
// path, a list like PATH.
func Beside(name, path string) (string, error) {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	self, err := os.Executable()
	if err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		if at := filepath.Join(filepath.Dir(self), name); isProgram(at) {
			return at, nil
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if at := filepath.Join(dir, name); filepath.IsAbs(dir) && isProgram(at) {
			return at, nil
		}
	}
	return "", fmt.Errorf("there is no program %s, neither beside %s nor on PATH: install both into one directory", name, cmp.Or(self, "this program"))
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}
