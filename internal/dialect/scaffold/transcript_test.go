package scaffold

import (
	"path/filepath"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestTranscripts plays testdata/transcripts: it compares what plugins are sent byte for byte, and
// checks what their answers do.
func TestTranscripts(t *testing.T) {
	transcripts := plugtest.Transcripts{
		Dialect: New(),
		Dir:     func(string) string { return filepath.Join(".local", "scaffold", "plugins") },
		Program: func(name string) string { return name },
	}
	transcripts.Run(t)
}
