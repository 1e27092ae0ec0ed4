//go:build unix

package dialect

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestANamedPipeAsAManifest: a named pipe is refused at once; the host does not wait for a writer.
func TestANamedPipeAsAManifest(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "manifest.yaml")
	must(t, syscall.Mkfifo(pipe, 0o755))
	done := make(chan error, 1)
	go func() {
		_, err := ReadManifest(pipe, 1024)
		if IsScript(pipe) {
			t.Error("a named pipe was taken for a script")
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%v", err)
		}
		if strings.Count(err.Error(), pipe) != 1 {
			t.Errorf("the error does not have the path exactly once: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the host waits for a writer")
	}
}
