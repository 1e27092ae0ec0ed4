package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/job"
)

// TestAgentsAreHeldToTheirSecurity runs an agent that writes where it may and where it may not. It
// also calls two servers, one of which its manifest names.
func TestAgentsAreHeldToTheirSecurity(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	h.write(".config/patchbay/config.toml", `sandbox = "declared"`)
	open, closed, named, other := t.TempDir(), t.TempDir(), listen(t), listen(t)
	agent := func(name, security string) {
		h.write(".config/patchbay/agents/"+name+"/agent.toml", fmt.Sprintf(`
[agent]
name = %q
[run]
command = "/bin/bash"
args = ["-c", '''
for place in %s/file %s/file $AGENT_TMPDIR/file; do (echo x > $place) 2>/dev/null && echo wrote $(basename $(dirname $place)) || echo no $(basename $(dirname $place)); done
for port in %s %s; do (exec 3<>/dev/tcp/127.0.0.1/$port && read -t 5 line <&3 && echo "$line $port") 2>/dev/null || echo silence $port; done
cat /etc/hostname >/dev/null && echo reads
''']
[security]
%s
`, name, open, closed, named, other, security))
	}
	agent("held", fmt.Sprintf("network = [%q]\nfilesystem_writable = [%q]", "127.0.0.1:"+named, open))
	agent("cut-off", `network = "deny"`)
	own := h.home + "/.config/patchbay"
	h.write(".config/patchbay/secrets.toml", "")
	if err := os.WriteFile(own+"/secrets.toml", []byte("KEY = \"hidden-word\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.write(".config/dotagent/secrets.env", "KEY=hidden-word\n")
	for name, security := range map[string]string{"homely": fmt.Sprintf("filesystem_writable = [%q]", h.home), "unlimited": `network = "deny"`} {
		h.write(".config/patchbay/agents/"+name+"/agent.toml", fmt.Sprintf(`
[agent]
name = %q
[run]
command = "/bin/bash"
args = ["-c", '''
cd %s
for place in config.toml new agents/%s/agent.toml agents/new; do (echo x > .config/patchbay/$place) 2>/dev/null && echo wrote $place; done
mv .config elsewhere 2>/dev/null && echo moved
cat .config/patchbay/secrets.toml .config/dotagent/secrets.env 2>/dev/null
ls .local/state/patchbay 2>/dev/null | grep -v agents
(echo x > file) && echo home is writable
''']
[security]
%s
`, name, h.home, name, security))
	}
	agent("free", "")
	h.write("dotfiles/brought/agent.toml", "")
	for name, c := range map[string]struct{ link, target, writable string }{
		"linked-up": {"data", "../..", "data"}, "linked-to-all": {"data", own + "/agents", "data"}, "linked-to-another": {"data", own + "/agents/held", "data"},
		"linked-out": {"data", closed, "data"}, "self": {"", "", "agent.toml"}, "self-by-a-link": {"", "", "data"}, "brought": {"", "", h.home + "/dotfiles"},
	} {
		h.write(".config/patchbay/agents/"+name+"/agent.toml", fmt.Sprintf(`
[agent]
name = %q
[run]
command = "/bin/bash"
args = ["-c", '''
cd %s; for place in data/new/agent.toml data/agent.toml data/config.toml data/held/agent.toml data/file agent.toml; do mkdir -p $(dirname $place); (echo x >> $place) && echo wrote $place; done 2>/dev/null; true
''']
[security]
filesystem_writable = [%q]
`, name, own+"/agents/"+name, c.writable))
		if c.link != "" {
			if err := os.Symlink(c.target, own+"/agents/"+name+"/"+c.link); err != nil {
				t.Fatal(err)
			}
		}
	}
	for from, to := range map[string]string{own + "/agents/self-by-a-link/agent.toml": own + "/agents/self-by-a-link/data/agent.toml", own + "/agents/brought/agent.toml": h.home + "/dotfiles/brought/agent.toml"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(from, to), os.Symlink(to, from)); err != nil {
			t.Fatal(err)
		}
	}
	c := h.open("")
	for _, test := range []struct {
		agent     string
		want, not []string
	}{
		{"held", []string{"wrote " + filepath.Base(open), "no " + filepath.Base(closed), "wrote patchbay-held", "hello " + named, "silence " + other, "reads"}, nil},
		{"cut-off", []string{"wrote " + filepath.Base(open), "wrote " + filepath.Base(closed), "silence " + named, "silence " + other, "reads"}, nil},
		{"free", []string{"wrote " + filepath.Base(closed), "hello " + named, "hello " + other}, []string{"silence"}},
		{"homely", []string{"home is writable"}, []string{"wrote", "moved", "hidden-word", ".sock"}},
		{"unlimited", []string{"home is writable"}, []string{"wrote", "moved", "hidden-word", ".sock"}},
	} {
		t.Run(test.agent, func(t *testing.T) {
			os.Remove(closed + "/file")
			output := runOut(t, c, test.agent)
			for _, want := range test.want {
				if !strings.Contains(output, want) {
					t.Errorf("no %q in\n%s", want, output)
				}
			}
			for _, not := range test.not {
				if strings.Contains(output, not) {
					t.Errorf("%q in\n%s", not, output)
				}
			}
		})
	}
	for _, name := range []string{"linked-up", "linked-to-all", "linked-to-another", "linked-out", "self", "self-by-a-link", "brought"} {
		t.Run(name, func(t *testing.T) {
			output, _ := runAgent(t, c, name)
			for _, not := range []string{"wrote data/agent.toml", "wrote data/config.toml", "wrote data/held", "wrote agent.toml"} {
				if strings.Contains(output, not) {
					t.Errorf("%q in\n%s", not, output)
				}
			}
			if name == "linked-out" && strings.Contains(output, "wrote") {
				t.Errorf("%s", output)
			}
		})
	}
}

// runOut runs an agent by hand, which must succeed, and returns its output.
func runOut(t *testing.T, c *Core, agent string) string {
	t.Helper()
	text, ended := runAgent(t, c, agent)
	if ended.Status != job.Succeeded {
		t.Errorf("%+v", ended)
	}
	return text
}

// runAgent runs an agent by hand, and returns its output and its run.
func runAgent(t *testing.T, c *Core, agent string) (string, job.Run) {
	t.Helper()
	j := jobs{c.Jobs}
	started, err := j.Start(t.Context(), agent, "", true)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	err = j.Follow(t.Context(), started.(job.Run).ID, func(raw json.RawMessage) error {
		text.Write(raw)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := j.Run(t.Context(), started.(job.Run).ID)
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), run.(job.Run)
}

// listen starts a server that sends hello, and returns its port.
func listen(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "hello")
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
