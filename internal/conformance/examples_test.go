//go:build unix

package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// passes tests a plugin that must not fail. Warnings are allowed.
func passes(t *testing.T, path, only string) *Report {
	t.Helper()
	target, err := At(path, only, dialect.Env{Vars: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	r := report(t, target)
	for _, c := range r.Checks {
		if c.Status == Fail {
			t.Errorf("%s: %s", c.ID, c.Message)
		}
	}
	return r
}

func report(t *testing.T, target Target) *Report {
	t.Helper()
	r, err := Run(t.Context(), target, Options{Environ: os.Environ(), Log: testLog(t), within: (&fault{}).within, Bare: noSandbox(t)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func needTools(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"bash", "jq", "git", "python3"} {
		plugtest.NeedTool(t, tool)
	}
}

// TestExamplesPass: the plugins in examples/ pass.
func TestExamplesPass(t *testing.T) {
	needTools(t)
	for _, path := range []string{"plugins/git-status", "plugins/keep_secrets.py", "agents/plugins/dotagent-plugin-have-program",
		"agents/plugins/dotagent-plugin-markdown-file", "agents/plugins/dotagent-plugin-note-file", "agents/plugins/dotagent-plugin-path-ready"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			passes(t, filepath.Join("../../examples", path), "")
		})
	}
}

// TestPluginsOfThePagesPass: the plugins that docs/protocols prints pass.
func TestPluginsOfThePagesPass(t *testing.T) {
	needTools(t)
	for _, c := range []struct{ page, file, path string }{
		{"dotagent", "dotagent-plugin-keep", ""},
		{"dotagent", "dotagent-plugin-maintenance", ""},
		{"scaffold", "notes", ""},
		{"scaffold", "guard", ""},
		{"python", "keeper.py", ""},
		{"mine", ".local/share/mine/plugins/no-force/", ".local/share/mine/plugins/no-force"},
		{"mine", ".local/share/mine/plugins/journal/", ".local/share/mine/plugins/journal"},
		{"kaged", ".local/share/kaged/plugins/notes/", ".local/share/kaged/plugins/notes"},
	} {
		t.Run(c.page+"/"+filepath.Base(c.file), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, f := range plugtest.Page(t, "docs/protocols/"+c.page+".md").Files {
				if f.Name == c.file || c.path != "" && strings.HasPrefix(f.Name, c.file) {
					mode := os.FileMode(0o755)
					if filepath.Ext(f.Name) == ".py" && c.page == "python" {
						mode = 0o644
					}
					write(t, filepath.Join(dir, f.Name), f.Text, mode)
				}
			}
			path := c.path
			if path == "" {
				path = c.file
			}
			if r := passes(t, filepath.Join(dir, path), c.page); c.page == "mine" && r.Count(Warn) > 0 {
				t.Errorf("warnings about a plugin that authors copy: %+v", r.Checks)
			}
		})
	}
}

// TestSeedExamplesPass: the plugins that the protocol documents print pass.
func TestSeedExamplesPass(t *testing.T) {
	needTools(t)
	t.Run("scaffold", func(t *testing.T) {
		t.Parallel()
		for _, b := range plugtest.Seed(t, "003").Blocks("python", "bash") {
			if strings.HasPrefix(b.Text, "#!") {
				t.Run(b.Heading, func(t *testing.T) {
					t.Parallel()
					path := filepath.Join(t.TempDir(), "plugin")
					write(t, path, b.Text, 0o755)
					passes(t, path, "scaffold")
				})
			}
		}
	})
	t.Run("mine", func(t *testing.T) {
		t.Parallel()
		passes(t, mineExample(t, "tags", "preexec", "transform", func(program string) { write(t, program, seedTransform(t), 0o755) }), "mine")
	})
	t.Run("mine in Go", func(t *testing.T) {
		t.Parallel()
		plugtest.NeedTool(t, "go")
		passes(t, mineExample(t, "logs", "notify", "notify", func(program string) {
			source := filepath.Join(t.TempDir(), "main.go")
			write(t, source, plugtest.Seed(t, "001").Span("package main", "").Text, 0o644)
			build := exec.Command("go", "build", "-o", program, source)
			build.Dir = filepath.Dir(source)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}), "mine")
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		for _, b := range plugtest.Seed(t, "004").Blocks("python") {
			if !strings.Contains(b.Text, "__plugin__ =") {
				continue
			}
			t.Run(b.Heading, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "plugin.py")
				write(t, path, b.Text, 0o644)
				if b.Heading != "Tool Mocker Plugin" {
					passes(t, path, "python")
					return
				}
				target, err := At(path, "", dialect.Env{Vars: os.Environ()}) // as printed it is not valid Python
				if err != nil {
					t.Fatal(err)
				}
				if r := report(t, target); r.OK || r.Count(Fail) != 1 || r.Checks[1].ID != "python.file.loads" || r.Checks[1].Status != Fail {
					t.Errorf("got %+v", r)
				}
			})
		}
	})
}

// mineExample writes a plugin with one hook.
func mineExample(t *testing.T, name, stage, mode string, program func(path string)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	text := strings.NewReplacer("NAME", name, "STAGE", stage, "MODE", mode).Replace("[plugin]\nname = \"NAME\"\nversion = \"1.0.0\"\n" +
		"description = \"An example\"\nauthor = \"Ada\"\nprotocol_version = \"1.0.0\"\n\n[[hooks]]\ncommand = \"todo.*\"\nstage = \"STAGE\"\nmode = \"MODE\"\n")
	write(t, filepath.Join(dir, "mine-plugin.toml"), text, 0o644)
	program(filepath.Join(dir, "mine-plugin-"+name))
	return dir
}

// seedTransform returns the document's transform plugin with its indentation put back.
func seedTransform(t *testing.T) string {
	t.Helper()
	const indentation = "000011112332211121122101"
	lines := strings.Split(strings.TrimSuffix(plugtest.Seed(t, "001").Span("#!/usr/bin/env python3", "main()").Text, "\n"), "\n")
	if len(lines) != len(indentation) {
		t.Fatalf("the program has %d lines", len(lines))
	}
	for i, depth := range indentation {
		lines[i] = strings.Repeat("    ", int(depth-'0')) + lines[i]
	}
	return strings.Join(lines, "\n") + "\n"
}
