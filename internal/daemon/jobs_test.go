package daemon

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

const greeter = `
[agent]
name = "greeter"
[run]
command = "/bin/sh"
args = ["-c", "echo hello; sleep 0.2; echo bye"]
[[schedules]]
id = "daily"
type = "cron"
hours = [6]
minute = 0
[[notifiers]]
driver = "ntfy"
topic = "${TOPIC}"
`

// TestJobsOverHTTP: a run can be started, followed and read, a schedule has one run at a time, and
// the journal has the run.
func TestJobsOverHTTP(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/agents/greeter/agent.toml", greeter)
	h.write(".config/patchbay/agents/broken/agent.toml", "[agent]\nnam = 1\n")
	c := h.open("")
	j := jobs{c.Jobs}
	if _, err := j.Start(t.Context(), "nobody", "", false); !errors.Is(err, httpapi.ErrNoJob) {
		t.Errorf("an unknown agent: %v", err)
	}
	if _, err := j.Start(t.Context(), "greeter", "never", false); !errors.Is(err, httpapi.ErrNoJob) || !strings.HasSuffix(err.Error(), `: agent greeter has no schedule "never"`) {
		t.Errorf("an unknown schedule: %v", err)
	}
	started, err := j.Start(t.Context(), "greeter", "", true)
	if err != nil {
		t.Fatal(err)
	}
	id := started.(job.Run).ID
	if _, err := j.Start(t.Context(), "greeter", "daily", true); !errors.Is(err, httpapi.ErrJobBusy) {
		t.Errorf("a second run: %v", err)
	}
	var lines []string
	if err := j.Follow(t.Context(), id, func(raw json.RawMessage) error { lines = append(lines, string(raw)); return nil }); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, `"text":"hello"`) || !strings.Contains(text, `"text":"bye"`) {
		t.Errorf("followed %s", text)
	}
	run, err := j.Run(t.Context(), id)
	if err != nil || run.(job.Run).Status != job.Succeeded {
		t.Errorf("%+v, %v", run, err)
	}
	list, err := c.Jobs.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Last == nil || list[0].Streak != 1 || list[0].Next == nil || list[1].Error == "" {
		t.Errorf("%+v, %v", list, err)
	}
	eventually.True(t, "the journal has the run", func() bool {
		kept, err := c.Journal.Read(t.Context(), 0, journal.Filter{Kinds: []string{"job.success"}}, 0)
		return err == nil && len(kept) == 1 && strings.Contains(string(kept[0].Data), id)
	})
}

// TestJobsOverARealConnection runs an agent through the routes, as a client does.
func TestJobsOverARealConnection(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/agents/greeter/agent.toml", greeter)
	c := h.open("")
	routes := httpapi.New(httpapi.Options{Backend: c.backend()})
	server := httptest.NewServer(routes)
	defer server.Close()
	resp, err := server.Client().Post(server.URL+"/v1/jobs/greeter/run", "application/json", strings.NewReader(`{"once":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var run job.Run
	if err := json.NewDecoder(resp.Body).Decode(&run); err != nil || resp.StatusCode != http.StatusOK || run.Agent != "greeter" {
		t.Fatalf("status %d: %+v, %v", resp.StatusCode, run, err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/runs/"+run.ID+"/output", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	live, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Body.Close()
	text, err := io.ReadAll(live.Body)
	if err != nil || !strings.Contains(string(text), `"text":"bye"`) || !strings.Contains(string(text), "event: result") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestJobExam(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/agents/greeter/agent.toml", greeter+"[[preflight]]\nplugin = \"nowhere\"\n")
	h.write(".config/patchbay/agents/broken/agent.toml", "[agent]\nnam = 1\n")
	h.write(".config/patchbay/agents/lost/agent.toml", "[agent]\nname = \"lost\"\n[run]\ncommand = \"no-such-program\"\nworking_dir = \"nowhere\"\n")
	tool := h.write("tools/own-tool", "#!/bin/sh\n")
	if err := os.Chmod(tool, 0o700); err != nil {
		t.Fatal(err)
	}
	h.write(".config/patchbay/agents/tooled/agent.toml", "[agent]\nname = \"tooled\"\n[run]\ncommand = \"own-tool\"\n[env]\nextra = { PATH = \""+filepath.Dir(tool)+"\" }\n")
	c := h.open("")
	x := JobExam{Host: c.Host, Environ: h.options().Host.Environ, Procs: c.procs}
	findings := x.Of(t.Context(), c.Jobs.Loaded())
	for _, want := range []struct{ where, problem string }{
		{"broken/agent.toml:2:1", "unknown key"},
		{"greeter/agent.toml:", "plugin not found: nowhere"},
		{"greeter/agent.toml:", "TOPIC"},
		{"lost/agent.toml:4:11", "no program no-such-program in $PATH"},
		{"lost/agent.toml:5:15", "run.working_dir: there is no directory " + filepath.Join(h.home, ".config/patchbay/agents/lost/nowhere")},
	} {
		if !slices.ContainsFunc(findings, func(f pluginhost.Finding) bool {
			return strings.Contains(f.Where, want.where) && strings.Contains(f.Problem, want.problem) && f.Severity == pluginhost.SeverityError
		}) {
			t.Errorf("no finding %+v in %+v", want, findings)
		}
	}
	if i := slices.IndexFunc(findings, func(f pluginhost.Finding) bool { return strings.Contains(f.Where, "tooled/") }); i >= 0 {
		t.Errorf("a program in the agent's own PATH: %+v", findings[i])
	}
}
