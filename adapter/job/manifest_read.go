package job

import (
	"regexp"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// The defaults, as docs/jobs.md, "The manifest", lists them.
const (
	defaultTimeout    = 1800 * time.Second
	defaultAttempts   = 3
	defaultStaleAfter = 120 * time.Minute
)

// The largest values. dotagent has no limits; a larger value is most likely in the wrong unit.
const (
	maxTimeout  = 7 * 24 * time.Hour
	maxAttempts = 100
	maxMinutes  = 366 * 24 * 60 // a year
)

func defaultRetry() Retry {
	return Retry{
		Attempts:   defaultAttempts,
		Backoff:    []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute},
		StaleAfter: defaultStaleAfter,
	}
}

// namePattern matches names of agents and ids of schedules. They become keys, parts of file names,
// values of environment variables and words on a command line, so they contain no character that
// has a special meaning there. A slash separates them in ids.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$`)

const nameRule = "use letters, digits, -, _ and ., a letter or digit first, no dot last, at most 64"

// readManifest reads the whole file. Each function below defines one table; [[schedules]] are in
// schedule_read.go, hooks and [security] in manifest_hooks.go, [[notifiers]] in
// manifest_notifiers.go.
func readManifest(t *document.Table, m *Manifest) {
	m.Agent = readAgent(t.Table("agent"))
	m.named.Key = "agent.name"
	m.named.Line, m.named.Column = t.Position("agent", "name")
	m.Security = readSecurity(t.Table("security"), m.Dir)
	m.Run = readProgram(t.Table("run"), m)
	m.Run.At.Key = "run.command"
	m.Run.At.Line, m.Run.At.Column = t.Position("run", "command")
	m.Run.DirAt.Key = "run.working_dir"
	m.Run.DirAt.Line, m.Run.DirAt.Column = t.Position("run", "working_dir")
	m.Env = readEnv(t.Table("env"))
	m.Defaults = readDefaults(t.Table("defaults"))
	m.Schedules = readSchedules(t.Tables("schedules"), m.Defaults)
	m.Preflight = readHooks(t, preflightList, m.Security)
	m.OnSuccess = readHooks(t, onSuccessList, m.Security)
	m.OnFailure = readHooks(t, onFailureList, m.Security)
	m.Notifiers = readNotifiers(t, m.Security)
	t.End()
}

func readAgent(t *document.Table) Agent {
	a := Agent{
		Name:        readName(t, "name"),
		Description: t.Text("description", ""),
		Version:     t.Text("version", ""),
		Monitor:     t.Bool("monitor", true),
		Timeout:     readSeconds(t, "timeout_seconds", defaultTimeout),
	}
	t.End()
	return a
}

// readName reads a required name.
func readName(t *document.Table, key string) string {
	name := t.Required(key)
	if name != "" && !namePattern.MatchString(name) {
		t.Bad(key, nameRule, "%q cannot be a name", document.Cut(name))
	}
	return name
}

// readProgram reads the program to start. A command that contains a slash is relative to the
// manifest's directory; a bare name is looked up in the PATH that the program gets.
func readProgram(t *document.Table, m *Manifest) Program {
	written := t.Required("command")
	p := Program{
		Command:    resolveCommand(m.Dir, written),
		Args:       readArgs(t, "args"),
		WorkingDir: resolve(m.Dir, t.Text("working_dir", ".")),
		InProject:  t.Has("working_dir"),
	}
	checkText(t, "command", written)
	checkText(t, "working_dir", p.WorkingDir)
	if written != "" && !allowsCommand(m.Security.AllowedCommands, m.Dir, written) {
		t.Bad("command", "add it there, or run another", "security.allowed_commands does not list %q", document.Cut(written))
	}
	t.End()
	return p
}

// allowsCommand reports whether the list allows a command. It compares resolved commands, so a bare
// name in the list does not allow a file of that name.
func allowsCommand(allowed []string, dir, command string) bool {
	for _, a := range allowed {
		if resolveCommand(dir, a) == resolveCommand(dir, command) {
			return true
		}
	}
	return len(allowed) == 0
}

func readEnv(t *document.Table) Env {
	e := Env{Inherit: t.Bool("inherit", true), Extra: map[string]string{}}
	extra := t.Table("extra")
	for _, name := range extra.Names() {
		value := extra.Text(name, "")
		if name == "" || strings.ContainsAny(name, "=\x00") {
			extra.Bad(name, "use letters, digits and underscores", "cannot be the name of a variable")
		}
		checkText(extra, name, value)
		e.Extra[name] = value
	}
	t.End()
	return e
}

func readDefaults(t *document.Table) Retry {
	r := readRetry(t, defaultRetry())
	t.End()
	return r
}

// readRetry reads the three keys that [defaults] and each schedule have; r has the values for keys
// that are absent.
func readRetry(t *document.Table, r Retry) Retry {
	r.Attempts = readAttempts(t, "max_retries", r.Attempts)
	if minutes := numbers(t, "retry_backoff_minutes", span{0, maxMinutes}); minutes != nil {
		r.Backoff = make([]time.Duration, len(minutes))
		for i, n := range minutes {
			r.Backoff[i] = time.Duration(n) * time.Minute
		}
	}
	stale := number(t, "stale_after_minutes", int(r.StaleAfter/time.Minute), span{1, maxMinutes})
	r.StaleAfter = time.Duration(stale) * time.Minute
	return r
}

// readAttempts reads a number of attempts. Users of dotagent write 0 for "no retries", which means
// one attempt there, too.
func readAttempts(t *document.Table, key string, fallback int) int {
	n := number(t, key, fallback, span{0, maxAttempts})
	if n == 0 {
		t.Warn(key, "write 1", "0 counts as 1: it is the number of attempts, the first included")
		return 1
	}
	return n
}

// readSeconds reads a positive number of seconds.
func readSeconds(t *document.Table, key string, fallback time.Duration) time.Duration {
	n := number(t, key, int(fallback/time.Second), span{1, int(maxTimeout / time.Second)})
	return time.Duration(n) * time.Second
}
