package mine

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestTranscripts plays testdata/transcripts: it compares what plugins are sent byte for byte, and
// checks what their answers do.
func TestTranscripts(t *testing.T) {
	transcripts := plugtest.Transcripts{
		Dialect: &Dialect{lifecycle: busy},
		Dir:     func(name string) string { return filepath.Join(".local", "share", "mine", "plugins", name) },
		Program: func(name string) string { return programPrefix + name },
		Health: func(ctx context.Context, p dialect.Plugin) string {
			p.(*plugin).CheckHealth(ctx)
			return p.Status().Health
		},
	}
	transcripts.Run(t)
}
