//go:build unix

package daemon

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/fixes"
)

// TestUnasked: the error about a daemon that gives no usable answer says so in plain words, and
// names its process and what to do. A reload does not wait for such a daemon.
func TestUnasked(t *testing.T) {
	var kill string
	if runtime.GOOS == "linux" {
		kill = "`kill -9 " + strconv.Itoa(os.Getpid()) + "`"
	}
	for name, tt := range map[string]struct {
		answer    string // "": it keeps the connection open
		what, fix string
	}{
		"it hangs":                    {"", "does not answer; ", kill},
		"it ends during the request":  {"end", "ended before it answered; ", "run the command again"},
		"another program":             {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "that this version of Patchbay cannot read; ", "start `patchbay serve`"},
		"another version's status":    {"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"hooks\":1}", "that this version of Patchbay cannot read; ", "start `patchbay serve`"},
		"a version without the route": {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "it answers 404 Not Found: is it another version?; ", "start `patchbay serve`"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // one of them waits
			dirs := config.Dirs{State: t.TempDir()}
			answering(t, filepath.Join(dirs.State, "patchbay.sock"), tt.answer)
			ctx, cancel := context.WithTimeout(t.Context(), reloadTime/2)
			defer cancel()
			asks := []func() error{func() error { return Reload(ctx, dirs) }, func() error { _, err := Status(ctx, dirs); return err }}
			if tt.answer == "" {
				asks = asks[:1] // each takes five seconds
			}
			for _, ask := range asks {
				began := time.Now()
				err := ask()
				if err == nil || !strings.Contains(err.Error(), tt.what) || strings.Contains(err.Error(), "http://") || !strings.Contains(fixes.Of(err), tt.fix) {
					t.Errorf("%v", err)
				}
				if ctx.Err() != nil {
					t.Errorf("it took %s", time.Since(began))
				}
			}
		})
	}
	t.Run("a part of the path is a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Status(t.Context(), config.Dirs{State: file}); err != ErrNoDaemon {
			t.Errorf("%v", err)
		}
	})
}

// answering listens on a socket, and gives every connection the same answer.
func answering(t *testing.T, path, answer string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			if answer == "" {
				continue
			}
			_, _ = conn.Read(make([]byte, 4096)) // the request
			if answer != "end" {
				_, _ = conn.Write([]byte(answer))
			}
			_ = conn.Close()
		}
	}()
}
