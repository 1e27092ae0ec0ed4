package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAKilledDryRunLeavesNothing: the next dry run removes the temporary directory of one that was
// killed.
func TestAKilledDryRunLeavesNothing(t *testing.T) {
	home := t.TempDir()
	tmp := filepath.Join(home, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	hangingPlugins(t, home)
	write(t, home, ".config/patchbay/agents/quick/agent.toml", "[agent]\nname = \"quick\"\n[run]\ncommand = \"/bin/true\"\n")
	left := func() []string {
		t.Helper()
		paths, err := filepath.Glob(tmp + "/patchbay-*-p*")
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	run := func(agent string) []string { return []string{"job", "run", agent, "--dry-run", "--dialect", "mine"} }
	cmd := patchbayIn(home, run("hangs")...)
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	start(t, cmd)
	await(t, func() bool { return marked(home, cmd) })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if len(left()) != 1 {
		t.Fatalf("the killed dry run left %q: the test proves nothing", left())
	}
	cmd = patchbayIn(home, run("quick")...)
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(left()) > 0 {
		t.Errorf("left: %q", left())
	}
}
