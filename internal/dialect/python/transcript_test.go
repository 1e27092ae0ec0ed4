package python

import (
	"path/filepath"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestTranscripts plays testdata/transcripts: plugins print what they get, and the results show
// what their answers do. The files of a transcript are the plugins, and Python runs them.
func TestTranscripts(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	transcripts := plugtest.Transcripts{
		Dialect: New(),
		Dir:     func(string) string { return filepath.Join(".agent", "plugins") },
	}
	transcripts.Run(t)
}
