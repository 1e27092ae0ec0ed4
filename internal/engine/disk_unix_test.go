//go:build unix

package engine

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk makes the disk full for a child process, by a limit on the size of its files.
func TestFullDisk(t *testing.T) {
	c := startChild(t, "full", t.TempDir())
	var lines []string
	for c.lines.Scan() {
		lines = append(lines, c.lines.Text())
	}
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("%v: %q", err, lines)
	}
	for i, rule := range []string{
		"a write to a full disk is refused at once, and says so",
		"stored data can be read",
		"a purge is refused, and the engine goes on",
		"when there is room again, writing goes on",
		"nothing that was acknowledged is lost",
	} {
		t.Run(rule, func(t *testing.T) {
			if i >= len(lines) || lines[i] != "ok" {
				t.Errorf("%q", lines)
			}
		})
	}
}

// fillDisk prints one line for each rule.
func fillDisk(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	e, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	s, err := e.Stream(ctx, StreamConfig{Name: "s"})
	if err != nil {
		return err
	}
	write := func() error {
		_, err := s.Append(ctx, Append{Topic: "t", Data: []byte(strings.Repeat("x", 100_000))})
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	small := limit
	small.Cur = 1_000_000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		return err
	}
	written := 0
	for err = write(); err == nil && written < 100; err = write() {
		written++
	}
	report(written > 0 && errors.Is(err, ErrDisk), written, err)
	records, err := s.Read(ctx, "t", 0, 0)
	report(err == nil && len(records) >= written, len(records), err)
	none := limit
	none.Cur = 1000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &none); err != nil {
		return err
	}
	err = s.Purge(ctx, "other")
	_, first := s.First(ctx)
	report(errors.Is(err, ErrDisk) && first == nil, err, first)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	// The server with the fault may have failed once more while it was being replaced.
	err = write()
	for tries := 0; errors.Is(err, ErrDisk) && tries < 10; tries++ {
		err = write()
	}
	report(err == nil, err)
	records, err = s.Read(ctx, "t", 0, 0)
	report(err == nil && len(records) > written, len(records), written, err)
	return e.Close()
}

func report(ok bool, detail ...any) {
	if ok {
		fmt.Println("ok")
	} else {
		fmt.Println(detail...)
	}
}
