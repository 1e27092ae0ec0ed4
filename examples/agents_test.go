//go:build unix

package examples

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// An agentHome is a home in which the example agents run, as agents/README.md says.
type agentHome struct {
	t        *testing.T
	patchbay string // the program
	dir      string // $HOME
}

// buildPatchbay compiles patchbay. It skips the test if a program is missing that the agents need.
func buildPatchbay(t *testing.T) (path string) {
	t.Helper()
	for _, tool := range []string{"python3", "git", "curl"} {
		plugtest.NeedTool(t, tool)
	}
	path = filepath.Join(t.TempDir(), "patchbay")
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/patchbay").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// job runs `patchbay job` with the configuration of the examples, and returns what it printed.
func (h *agentHome) job(env []string, args ...string) (output string, err error) {
	h.t.Helper()
	agents := filepath.Join(h.dir, "agents") // a copy, because Patchbay writes a lock file beside its configuration
	if _, err := os.Stat(agents); err != nil {
		if err := os.CopyFS(agents, os.DirFS("agents")); err != nil {
			h.t.Fatal(err)
		}
	}
	cmd := exec.Command(h.patchbay, append([]string{"--config", filepath.Join(agents, "patchbay.toml"), "job"}, args...)...)
	cmd.Env = append([]string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "DOTAGENT_PLUGIN_PATH=" + filepath.Join(agents, "plugins")}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// file returns what a plugin has written; "" if there is nothing.
func (h *agentHome) file(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	return string(text)
}

func TestAgents(t *testing.T) {
	patchbay := buildPatchbay(t)
	for name, test := range map[string]func(*testing.T, *agentHome){
		"doctor has no findings":                                      doctorIsContent,
		"disk-report: the sink has the table":                         diskReport,
		"git-digest: the sink has the commits of every repository":    gitDigest,
		"git-digest: an unreadable repository fails the run, no sink": gitDigestFails,
		"git-digest: on a dry run nothing is written":                 gitDigestDry,
		"website-check: failure and recovery are reported":            websiteCheck,
		"website-check: a page without the text is a failure":         websiteText,
	} {
		t.Run(name, func(t *testing.T) {
			test(t, &agentHome{t: t, patchbay: patchbay, dir: t.TempDir()})
		})
	}
}

func doctorIsContent(t *testing.T, home *agentHome) {
	if out, err := home.job(nil, "doctor"); err != nil || out != "3 agents: all is well\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func diskReport(t *testing.T, home *agentHome) {
	if out, err := home.job(nil, "run", "disk-report"); err != nil || !strings.Contains(out, "succeeded") {
		t.Fatalf("%v: %s", err, out)
	}
	want := regexp.MustCompile(`(?m)\A## Disks, \d{4}-\d\d-\d\d .*\n\n\| mounted on .*\n\|-.*\n` +
		`\| / \| .+ \| [\d.]+ [KMGT]iB \| [\d.]+ [KMGT]iB \| \d+% \| (\*\*nearly full\*\*)? \|\n\n\z`)
	if got := home.file("reports/disk.md"); !want.MatchString(got) {
		t.Errorf("the file has %q", got)
	}
}

// repository returns a new repository with one commit.
func repository(t *testing.T, name, subject string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	git(t, "init", "--quiet", dir)
	git(t, "-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false",
		"commit", "--quiet", "--allow-empty", "-m", subject)
	return dir
}

func gitDigest(t *testing.T, home *agentHome) {
	repos := "GIT_DIGEST_REPOS=" + repository(t, "site", `Say "hello"`) + ":" + repository(t, "my notes", "A star *")
	if out, err := home.job([]string{repos}, "run", "git-digest", "--schedule", "monday"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := regexp.MustCompile(`\A## Commits, .*\n\n### site\n\n- [0-9a-f]+ Say "hello" \(Ada\)\n\n` +
		`### my notes\n\n- [0-9a-f]+ A star \* \(Ada\)\n\n\z`)
	if got := home.file("reports/git.md"); !want.MatchString(got) {
		t.Errorf("the file has %q", got)
	}
}

func gitDigestFails(t *testing.T, home *agentHome) {
	repos := "GIT_DIGEST_REPOS=" + repository(t, "site", "First") + ":/nowhere"
	out, err := home.job([]string{repos}, "run", "git-digest", "--once")
	if err == nil || !strings.Contains(out, "exit code 1: git-digest: cannot read /nowhere") {
		t.Errorf("%v: %s", err, out)
	}
	if got := home.file("reports/git.md"); got != "" {
		t.Errorf("the file has %q", got)
	}
}

func gitDigestDry(t *testing.T, home *agentHome) {
	repos := "GIT_DIGEST_REPOS=" + repository(t, "site", "First")
	out, err := home.job([]string{repos}, "run", "git-digest", "--dry-run")
	if err != nil || !strings.Contains(out, "First (Ada)") || !strings.Contains(out, "success → sink markdown-file") {
		t.Errorf("%v: %s", err, out)
	}
	if got := home.file("reports/git.md"); got != "" {
		t.Errorf("the file has %q", got)
	}
}

// site starts a server whose page can be switched to an error.
func site(t *testing.T) (url string, broken *atomic.Bool) {
	broken = new(atomic.Bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("welcome\n")) // the client notices an error
	}))
	t.Cleanup(server.Close)
	return server.URL, broken
}

func websiteCheck(t *testing.T, home *agentHome) {
	url, broken := site(t)
	env := []string{"WEBSITE_CHECK_URL=" + url}
	for _, down := range []bool{false, true, false, false} {
		broken.Store(down)
		if out, err := home.job(env, "run", "website-check", "--once"); (err != nil) != down {
			t.Fatalf("down is %v: %v: %s", down, err, out)
		}
	}
	var told []string
	for line := range bytes.Lines([]byte(home.file("reports/website.log"))) {
		told = append(told, strings.Fields(string(line))[1])
	}
	if got := strings.Join(told, " "); got != "attempt_failed given_up recovered" {
		t.Errorf("told: %s", got)
	}
	if got := home.file("reports/website.log"); !strings.Contains(got, "503") {
		t.Errorf("the reason is missing: %s", got)
	}
}

func websiteText(t *testing.T, home *agentHome) {
	url, _ := site(t)
	out, err := home.job([]string{"WEBSITE_CHECK_URL=" + url, "WEBSITE_CHECK_TEXT=good bye"}, "run", "website-check", "--once")
	if err == nil || !strings.Contains(out, `does not have the text "good bye"`) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAgentPlugins tests answers of the plugins that their agents never cause.
func TestAgentPlugins(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	empty := t.TempDir()
	const (
		no       = `{"ok": false, "error": "`
		relative = no + "path must begin with"
		keepHi   = `{"kind":"sink","agent":"x","schedule":"y","event":"success","message":"hi","config":{"path":"/dev/null/a.md"}}`
	)
	for _, c := range []struct{ rule, plugin, verb, stdin, want string }{
		{"a preflight's relative path is refused", "path-ready", "validate", `{"path":"disk"}`, relative},
		{"a sink's relative path is refused too", "markdown-file", "validate", `{"path":"a.md"}`, relative},
		{"a notifier's relative path is refused too", "note-file", "validate", `{"path":"a.log"}`, relative},
		{"a path below the home is fine", "note-file", "validate", `{"path":"~/a.log"}`, `{"ok": true}`},
		{"a missing directory is refused, with a suggestion", "path-ready", "invoke",
			preflight(`{"path":"/nowhere/at/all"}`), no + `/nowhere/at/all is not a directory", "suggest": `},
		{"a directory on which nothing is mounted is refused too", "path-ready", "invoke",
			preflight(`{"path":"` + empty + `","mounted":true}`), `"suggest": "mount it: mount `},
		{"a writable directory is fine", "path-ready", "invoke",
			preflight(`{"path":"` + empty + `","writable":true}`), `{"ok": true}`},
		{"a program that is not installed is refused, with a suggestion", "have-program", "invoke",
			preflight(`{"program":"no-such-program"}`), `{"ok":false,"error":"no-such-program is not installed","suggest":`},
		{"a command line is not the name of a program", "have-program", "invoke",
			preflight(`{"program":"git; reboot"}`), `{"ok":false,"error":"program must be a name`},
		{"for a file that cannot be made it answers with an error, and does not crash", "markdown-file", "invoke", keepHi, no},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cmd := exec.Command("agents/plugins/dotagent-plugin-"+c.plugin, c.verb)
			cmd.Stdin = strings.NewReader(c.stdin)
			if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v: %s; want %s", err, out, c.want)
			}
		})
	}
}

// preflight returns the payload of a preflight plugin.
func preflight(config string) string {
	return `{"kind":"preflight","agent":"x","schedule":"y","event":"preflight","message":null,"config":` + config + `}`
}
