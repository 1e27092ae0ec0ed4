// Package examples tests that the example programs do what they say.
package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build compiles an example and returns its path.
func build(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", path, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// home returns an environment whose home has one mine plugin, which tags entries that are added.
func home(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	plugin := filepath.Join(dir, ".local/share/mine/plugins/tagger")
	if err := os.MkdirAll(plugin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"mine-plugin.toml": `[plugin]
name = "tagger"
version = "1.0.0"
description = "tags what is added"
author = "examples"
protocol_version = "1.0.0"

[[hooks]]
command = "add"
stage = "preexec"
mode = "transform"
`,
		"mine-plugin-tagger": `#!/bin/sh
sed 's/.*"context":\(.*\)}$/{"status":"ok","context":\1}/; s/"flags":{[^}]*}/"flags":{"tags":"groceries"}/'
`} {
		if err := os.WriteFile(filepath.Join(plugin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
}

func TestTodo(t *testing.T) {
	cmd := exec.Command(build(t, "todo"), "add", "buy", "milk")
	cmd.Env = home(t)
	out, err := cmd.CombinedOutput()
	if want := "added \"buy milk\" (priority normal, tags groceries)\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

func TestEmbed(t *testing.T) {
	cmd := exec.Command(build(t, "embed"))
	cmd.Env = home(t)
	cmd.Stdin = strings.NewReader("hello\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil || out.String() != "continue {\"message\":\"hello\"}\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
