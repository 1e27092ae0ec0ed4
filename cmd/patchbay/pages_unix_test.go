//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestPageOfDotagent types the commands of docs/protocols/dotagent.md.
func TestPageOfDotagent(t *testing.T) {
	for _, tool := range []string{"bash", "jq", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "docs/protocols/dotagent.md")
}

// TestPageOfJobs types the commands of docs/jobs.md.
func TestPageOfJobs(t *testing.T) { typePage(t, "docs/jobs.md") }

// TestPageOfTheEngine types the commands of docs/engine.md: damage, and its repair.
func TestPageOfTheEngine(t *testing.T) {
	for _, tool := range []string{"curl", "dd", "jq"} {
		plugtest.NeedTool(t, tool)
	}
	home, err := os.MkdirTemp("", "pbpage") // short, because the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(home, ".local/state/patchbay/patchbay.sock")); err == nil { // a command failed before the one that ends the daemon
			_ = exec.Command("sh", "-c", "kill $(cat "+filepath.Join(home, "daemon.pid")+")").Run()
		}
		_ = os.RemoveAll(home)
	})
	plugtest.Page(t, "docs/engine.md").Type(home, patchbayIn(home).Env, strings.NewReplacer(home, "~"))
}

// TestPageOfScaffold types the commands of docs/protocols/scaffold.md.
func TestPageOfScaffold(t *testing.T) {
	for _, tool := range []string{"bash", "jq", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "docs/protocols/scaffold.md")
}

// TestPageOfTesting types the commands of docs/testing-plugins.md.
func TestPageOfTesting(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	typePage(t, "docs/testing-plugins.md")
}

// TestPageOfPython types the commands of docs/protocols/python.md.
func TestPageOfPython(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	typePage(t, "docs/protocols/python.md")
}

// TestPageOfMine types the commands of docs/protocols/mine.md.
func TestPageOfMine(t *testing.T) {
	for _, tool := range []string{"bash", "python3", "git"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "docs/protocols/mine.md")
}

// TestPageOfInstalling types the commands of docs/installing-plugins.md.
func TestPageOfInstalling(t *testing.T) {
	for _, tool := range []string{"bash", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "docs/installing-plugins.md")
}

// TestPageOfKaged types the commands of docs/protocols/kaged.md.
func TestPageOfKaged(t *testing.T) {
	for _, tool := range []string{"bash", "python3", "go"} {
		plugtest.NeedTool(t, tool)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output() // with an empty cache go would compile the whole library
	if err != nil {
		t.Fatal(err)
	}
	typePage(t, "docs/protocols/kaged.md", "GOCACHE="+strings.TrimSpace(string(cache)), "CGO_ENABLED=0", "GOTOOLCHAIN=local")
}

// TestPageOfPluginDev types the commands of docs/plugin-dev.md.
func TestPageOfPluginDev(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	typePage(t, "docs/plugin-dev.md")
}

// TestPageOfTroubleshooting types the commands of docs/troubleshooting.md: each command must print
// the message that the page shows.
func TestPageOfTroubleshooting(t *testing.T) {
	for _, tool := range []string{"bash", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "docs/troubleshooting.md")
}

// TestPageOfExamples types the commands of docs/examples.md in a checkout of the repository.
func TestPageOfExamples(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	page := plugtest.Page(t, "docs/examples.md")
	home := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(home, "patchbay")); err != nil {
		t.Fatal(err)
	}
	page.Type(home, patchbayIn(home).Env, strings.NewReplacer(root, "~/patchbay", home, "~"))
}

// TestPageOfSessions types the commands of docs/sessions.md.
func TestPageOfSessions(t *testing.T) {
	plugtest.NeedTool(t, "jq")
	typePage(t, "docs/sessions.md")
}

// TestPageOfProjects types the commands of docs/projects.md.
func TestPageOfProjects(t *testing.T) { typePage(t, "docs/projects.md") }

// TestPageOfTracing types the commands of docs/tracing.md.
func TestPageOfTracing(t *testing.T) { typePage(t, "docs/tracing.md") }

// TestPageOfFirstPlugin types the commands of docs/first-plugin-LANGUAGE.md.
func TestPageOfFirstPlugin(t *testing.T) {
	for _, language := range []string{"go", "python", "javascript", "bash"} {
		t.Run(language, func(t *testing.T) {
			needLanguage(t, language)
			plugtest.NeedTool(t, "git")
			typePage(t, "docs/first-plugin-"+language+".md", goEnv(t)...)
		})
	}
}

// TestPageOfPorting types the commands of docs/porting.md.
func TestPageOfPorting(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	typePage(t, "docs/porting.md")
}

// typePage types the commands of a page in its own home.
func typePage(t *testing.T, path string, environ ...string) {
	t.Helper()
	t.Parallel() // it mostly waits for programs
	page := plugtest.Page(t, path)
	home := t.TempDir()
	page.Type(home, append(patchbayIn(home).Env, environ...), strings.NewReplacer(home, "~"))
}
