package drive

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// readyWithin limits the start of a daemon: its plugins may be sandboxed Python programs on a
	// busy machine.
	readyWithin = 2 * time.Minute
	// stopWithin limits its shutdown, in which turns get ten seconds and plugins their own time.
	stopWithin = time.Minute
)

// A Daemon is a running `patchbay serve`.
type Daemon struct {
	URL  string // of its HTTP API
	Home string // contains everything it reads and writes

	client *Client // for samples
	cmd    *exec.Cmd
	log    *os.File
	ended  chan error // gets the error of Wait, once
}

// Environ returns an environment in which all configuration and plugins are searched under home.
func Environ(home string) []string {
	return []string{
		"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + os.TempDir(),
		"PATCHBAY_HOME=" + filepath.Join(home, "patchbay"),
		"SCAFFOLD_HOME=" + filepath.Join(home, "scaffold"),
	}
}

// Start starts the program's daemon on a home, and returns when it is ready. It logs to daemon.log
// in the home.
func Start(ctx context.Context, program, home string) (*Daemon, error) {
	log, err := os.OpenFile(filepath.Join(home, "daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	d := &Daemon{Home: home, log: log, ended: make(chan error, 1)}
	d.cmd = exec.Command(program, "serve", "--json", "--listen", "127.0.0.1:0")
	d.cmd.Env, d.cmd.Dir, d.cmd.Stderr = Environ(home), home, log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := d.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := d.awaitReady(ctx, out); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
}

// awaitReady reads the line with the address. A goroutine reads the rest of stdout until the
// process ends.
func (d *Daemon) awaitReady(ctx context.Context, out io.Reader) error {
	line := make(chan string, 1)
	go func() {
		lines := bufio.NewReader(out)
		first, _ := lines.ReadString('\n') // if the daemon ended early, Wait says why
		line <- first                      //
		_, _ = io.Copy(io.Discard, lines)  //
		d.ended <- d.cmd.Wait()            // after stdout: Wait closes the pipe
	}()
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	select {
	case first := <-line:
		var ready struct {
			HTTP string `json:"http"`
		}
		if err := json.Unmarshal([]byte(first), &ready); err != nil || ready.HTTP == "" {
			return fmt.Errorf("the daemon is not ready, it printed %.200q: %s", first, d.logTail())
		}
		d.URL = strings.TrimSuffix(ready.HTTP, "/")
		d.client = NewClient(d.URL)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the daemon is not ready: %w: %s", ctx.Err(), d.logTail())
	}
}

// PID returns the daemon's process id.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Stop sends SIGTERM to the daemon and waits for its exit. It kills a daemon that does not exit,
// and returns an error.
func (d *Daemon) Stop() error {
	defer d.log.Close()
	if d.client != nil {
		d.client.Close()
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // if it has already ended, Wait says why
	select {
	case err := <-d.ended:
		if err != nil {
			return fmt.Errorf("the daemon ended: %w: %s", err, d.logTail())
		}
		return nil
	case <-time.After(stopWithin):
		return errors.Join(fmt.Errorf("the daemon did not end within %v of SIGTERM", stopWithin), d.cmd.Process.Kill())
	}
}

// logTail returns the end of the log.
func (d *Daemon) logTail() string {
	text, err := os.ReadFile(d.log.Name())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}

// Log returns how often each of the words occurs in the daemon's log.
func (d *Daemon) Log(words ...string) (map[string]int, error) {
	text, err := os.ReadFile(d.log.Name())
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int)
	for _, word := range words {
		counts[word] = strings.Count(string(text), word)
	}
	return counts, nil
}
