//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOnlyRegularFilesAreRead: any other file is an error at once. Reading a named pipe would wait
// for a writer.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.toml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	load := map[string]func(string) error{
		"config":  func(path string) error { _, err := Load(path); return err },
		"secrets": func(path string) error { _, err := LoadSecrets(path); return err },
	}
	for name, load := range load {
		for path, says := range map[string]string{pipe: "named pipe", "/dev/zero": "device", t.TempDir(): "directory"} {
			t.Run(name+" "+says, func(t *testing.T) {
				done := make(chan error, 1)
				go func() { done <- load(path) }()
				select {
				case err := <-done:
					if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), says) || strings.Count(err.Error(), path) != 1 {
						t.Errorf("error %v", err)
					}
				case <-time.After(time.Minute):
					t.Fatal("loading the file does not return")
				}
			})
		}
	}
}

func TestExposed(t *testing.T) {
	const token = "[server]\ntoken = \"hush\"\n"
	for _, c := range []struct {
		rule, text string
		mode       os.FileMode
		want       string
	}{
		{"a token that all can read", token, 0o644, "holds server.token, and others can read it (mode 0644)"},
		{"a token that the group can read", token, 0o640, "holds server.token"},
		{"a token that only the owner can read", token, 0o600, ""},
		{"no token", "[server]\n", 0o644, ""},
		{"the engine's password", "[engine]\nurl = \"nats://a:4222, nats://me:pw@b:4222\"\n", 0o644, "holds engine.url with a password"},
		{"an engine without a password", "[engine]\nurl = \"nats://a:4222\"\n", 0o644, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			path := write(t, c.text)
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			config, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			p, ok := config.Exposed()
			if ok != (c.want != "") || !strings.HasPrefix(p.Message, c.want) || ok && p.Fix != "run: chmod 600 "+path || strings.Contains(p.String(), "hush") {
				t.Errorf("%v, %+v", ok, p)
			}
		})
	}
}
