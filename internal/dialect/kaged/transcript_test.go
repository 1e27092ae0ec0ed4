package kaged

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestTranscripts plays testdata/transcripts: what plugins are sent, byte for byte, and what comes
// of their answers.
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

// ping asks once what a plugin is otherwise asked at intervals, which in a manifest are seconds at
// least.
func ping(ctx context.Context, p dialect.Plugin) string {
	if err := p.(*plugin).ping(ctx); !alive(err) {
		return "lost: " + err.Error()
	}
	return "alive"
}

// TestFigures: the protocol's numbers, which no conversation shows: 4 MB a message, 100
// notifications a second, 5 s for an answer to health.check.
func TestFigures(t *testing.T) {
	if maxMessage != 4<<20 || notifyRate != 100 || healthTimeout != 5*time.Second {
		t.Errorf("%d bytes, %d a second, %s", maxMessage, notifyRate, healthTimeout)
	}
}
