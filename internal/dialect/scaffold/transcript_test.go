package scaffold

import (
	"path/filepath"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestTranscripts plays testdata/transcripts: what plugins are sent, byte for byte, and what comes
// of their answers.
func TestTranscripts(t *testing.T) {
	transcripts := plugtest.Transcripts{
		Dialect: New(),
		Dir:     func(string) string { return filepath.Join(".local", "scaffold", "plugins") },
		Program: func(name string) string { return name },
	}
	transcripts.Run(t)
}
