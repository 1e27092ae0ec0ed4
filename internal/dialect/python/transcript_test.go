package python

import (
	"path/filepath"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestTranscripts plays testdata/transcripts: plugins print what they get, and the results show
// what their answers do. The plugins are the files, and the process is Python's.
func TestTranscripts(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	transcripts := plugtest.Transcripts{
		Dialect: New(),
		Dir:     func(string) string { return filepath.Join(".agent", "plugins") },
	}
	transcripts.Run(t)
}
