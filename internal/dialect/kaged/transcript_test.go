package kaged

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestTranscripts plays testdata/transcripts: it compares what plugins are sent byte for byte, and
// checks what their answers do.
func TestTranscripts(t *testing.T) {
	transcripts := plugtest.Transcripts{
		Dialect: New(),
		Dir:     func(name string) string { return filepath.Join(".local", "share", "kaged", "plugins", name) },
		Program: func(string) string { return "program" },
		Health:  ping,
		Storage: func() dialect.Storage { return &memory{} },
	}
	transcripts.Run(t)
}

// ping sends one health.check. The host sends them at intervals, which are at least seconds in a
// manifest.
func ping(ctx context.Context, p dialect.Plugin) string {
	if err := p.(*plugin).ping(ctx); !alive(err) {
		return "lost: " + err.Error()
	}
	return "alive"
}

// TestFigures checks the limits that no transcript shows: 4 MiB for a message, 100 notifications a
// second, 5 s for an answer to health.check.
func TestFigures(t *testing.T) {
	if maxMessage != 4<<20 || notifyRate != 100 || healthTimeout != 5*time.Second {
		t.Errorf("%d bytes, %d a second, %s", maxMessage, notifyRate, healthTimeout)
	}
}
