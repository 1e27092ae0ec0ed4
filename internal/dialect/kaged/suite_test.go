package kaged

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// wellBehaved is a plugin of the suite that works: it injects its name.
func wellBehaved(name, method string, _ json.RawMessage) any {
	switch method {
	case methodInitialize:
		return map[string]any{"name": name, "version": "1.0.0", "api_version": 1}
	case hookPrefix + "on_session_start":
		return map[string]any{"inject": name}
	}
	return map[string]any{}
}

func installFakes(t *testing.T, home string, behaviours ...string) {
	for _, b := range behaviours {
		dir := place(t, home, "fake-"+b, "manifest.yaml", suiteManifest("fake-"+b))
		plugtest.InstallFake(t, dir, b)
	}
}

// suiteManifest returns a manifest whose command is relative to the plugin's directory.
func suiteManifest(name string) string {
	return fmt.Sprintf("name: %s\nversion: 1.0.0\nkaged_api: 1\ndescription: a fake\ncommand: [%s]\nenv: {%s}\n"+
		"hooks: [on_session_start]\nshutdown_timeout_sec: 1\n", name, "./"+filepath.Base(name), testingEnv())
}

// TestMisbehaviour runs every misbehaviour of the common suite.
func TestMisbehaviour(t *testing.T) {
	suite := plugtest.Suite{
		Dialect: &Dialect{handshake: 5 * time.Second, health: healthTimeout},
		Install: installFakes,
		Point:   hook.SessionStart, Payload: `{"session_id":"s1"}`,
		Works: func(payload json.RawMessage, plugin string) bool { return strings.Contains(string(payload), plugin) },
	}
	suite.Run(t)
}

func newLogger(log *plugtest.Log) *slog.Logger {
	return slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
