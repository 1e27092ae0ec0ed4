package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A stopper ends a context at the first line that it is given.
type stopper struct {
	once sync.Once
	stop context.CancelFunc
	bytes.Buffer
}

func (s *stopper) Write(p []byte) (int, error) {
	s.once.Do(s.stop)
	return s.Buffer.Write(p)
}

// TestCtrlCEndsFollowing: Ctrl-C ends the following of a log with exit code 0. The script
// job_cancel has the same test for a run.
func TestCtrlCEndsFollowing(t *testing.T) {
	for _, line := range [][]string{{"serve", "logs", "-f"}, {"plugin", "logs", "shout", "-f"}} {
		c := newConsole(t)
		home := c.Environ[0][len("HOME="):]
		for name, text := range map[string]string{".local/scaffold/plugins/shout": "#!/bin/sh\n", ".local/state/patchbay/serve.log": "2026-11-16 06:00:00 info: hello\n", ".local/state/patchbay/plugins/scaffold/shout.log": `{"time":"2026-11-16T06:00:00Z","level":"info","text":"hello"}` + "\n"} {
			path := filepath.Join(home, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		out := &stopper{stop: cancel}
		c.Out = out
		if code := Main(ctx, line, c.IO); code != exitOK || out.Len() == 0 {
			t.Errorf("%q ends with %d: %s%s", line, code, out.String(), c.err.String())
		}
	}
}
