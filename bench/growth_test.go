package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
)

func TestCountSyncs(t *testing.T) {
	const text = `11 fsync(7)                         = 0
11 openat(AT_FDCWD, "/a", O_RDONLY|O_CLOEXEC) = 8
12 fdatasync(9 <unfinished ...>
11 openat(AT_FDCWD, "/b", O_WRONLY|O_CREAT|O_SYNC|O_CLOEXEC, 0640) = 8
12 <... fdatasync resumed>)             = 0
`
	if got := countSyncs([]byte(text)); got != 3 {
		t.Errorf("%d synced writes, wanted 3", got)
	}
}

// TestSeedIsASession: the measured code reads the seeded records as a session.
func TestSeedIsASession(t *testing.T) {
	home := t.TempDir()
	err := withEngine(t.Context(), home, func(e *engine.Engine) error { return seedSession(t.Context(), e, home, "ses_bench1", 7) })
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), engine.Options{Dir: filepath.Join(home, "patchbay", "data", "engine")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	begun, err := sessionstore.New(e).Begin(t.Context(), "ses_bench1", sessionstore.BeginOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(begun.Messages()); got != 7 {
		t.Errorf("%d messages, wanted 7", got)
	}
	if err := begun.End(context.WithoutCancel(t.Context()), session.Done); err != nil {
		t.Error(err)
	}
}

func TestReplyOf(t *testing.T) {
	var reply struct{ Text string }
	got := replyOf(1000)
	if err := json.Unmarshal(got, &reply); err != nil || len(got) != 1000 || reply.Text == "" {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestKagedPluginsStoreAndList(t *testing.T) {
	host, closeHost, err := kagedHost(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kagedTurn(host, 2)(t.Context()); err != nil {
		t.Error(err)
	}
	if err := closeHost(); err != nil {
		t.Error(err)
	}
}
