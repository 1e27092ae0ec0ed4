package engine

import (
	"log/slog"
	"strings"
	"testing"
)

// TestServerLog: after a crash the server's remarks about its own files are not in the log.
func TestServerLog(t *testing.T) {
	var said strings.Builder
	l := &serverLog{log: slog.New(slog.NewTextHandler(&said, nil))}
	l.Warnf("Filestore [KV] TTL state is outdated; attempting to recover using linear scan (seq %d to %d)", 1, 1)
	l.Warnf("Maximum payloads over %v are generally discouraged", 1)
	if said.Len() > 0 {
		t.Errorf("the log has %q", said.String())
	}
	if l.Warnf("the disk is slow"); !strings.Contains(said.String(), "the disk is slow") {
		t.Errorf("another warning is lost: %q", said.String())
	}
}
