package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// A jobDraft holds the values of a new agent.
type jobDraft struct {
	name        string
	description string
	command     []string // the program and its arguments; empty: a script to fill in
	at          string   // HH:MM
	every       int      // minutes
	cron        string
	zone        string
	timeout     int
	attempts    int
	notify      string // desktop, or ntfy:TOPIC
}

// firstScript is the script of a new agent without a command.
const firstScript = `#!/bin/sh
# Its output is stored: patchbay job logs shows it. Every exit code but 0 is a failure.
echo "hello from $AGENT_NAME, schedule $AGENT_SCHEDULE_ID"
`

// scripted reports whether the agent runs a script that is written with it.
func (d *jobDraft) scripted() bool { return len(d.command) == 0 }

// makePathAbsolute makes the path of a program absolute, because the manifest will be in another
// directory.
func (d *jobDraft) makePathAbsolute(dir string) {
	if d.scripted() || !strings.ContainsRune(d.command[0], filepath.Separator) || strings.HasPrefix(d.command[0], "~") {
		return
	}
	if path, err := filepath.Abs(filepath.Join(dir, d.command[0])); err == nil && !filepath.IsAbs(d.command[0]) {
		d.command[0] = path
	}
}

// schedule parses an answer to "when?".
func (d *jobDraft) schedule(line string) error {
	if interval, ok := strings.CutPrefix(line, "every "); ok {
		number := strings.TrimSpace(interval)
		for _, unit := range []string{"minutes", "minute", "min", "m"} {
			number = strings.TrimSpace(strings.TrimSuffix(number, unit))
		}
		n, err := strconv.Atoi(cmp.Or(number, "1"))
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of minutes: write every 15 minutes", interval)
		}
		d.every = n
		return nil
	}
	if _, err := time.Parse("15:04", line); err == nil {
		d.at = line
		return nil
	}
	trial := jobDraft{name: "trial", cron: line}
	if _, err := job.Parse("agent.toml", []byte(trial.manifest())); err != nil {
		return fmt.Errorf("%q is not a time: write 06:00, every 15 minutes, or five fields as in 30 2 * * 1-5", line)
	}
	d.cron = line
	return nil
}

// when returns in words when the agent runs.
func (d *jobDraft) when() string {
	switch {
	case d.at != "":
		return "every day at " + d.at
	case d.every == 1:
		return "every minute"
	case d.every > 0:
		return "every " + render.Count(d.every, "minute")
	}
	return "at the times of " + d.cron
}

// manifest returns the text of agent.toml.
func (d *jobDraft) manifest() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# An agent of Patchbay. docs/jobs.md lists every key.")
	line("[agent]\nname = %s", quoteTOML(d.name))
	if d.description != "" {
		line("description = %s", quoteTOML(d.description))
	}
	if d.timeout != 0 {
		line("timeout_seconds = %d", d.timeout)
	}
	line("\n[run]")
	if d.scripted() {
		line(`command = "./run.sh"        # beside this file`)
	} else {
		line("command = %s", quoteTOML(d.command[0]))
		if len(d.command) > 1 {
			line("args = [%s]", quoteList(d.command[1:]))
		}
	}
	if d.attempts != 0 {
		line("\n[defaults]\nmax_retries = %d", d.attempts)
	}
	d.writeSchedule(line)
	switch driver, topic, _ := strings.Cut(d.notify, ":"); {
	case d.notify != "" && driver == "ntfy":
		line("\n[[notifiers]]\ndriver = \"ntfy\"\ntopic = %s\nevents = [\"given_up\", \"recovered\", \"stale\"]", quoteTOML(topic))
	case d.notify != "":
		line("\n[[notifiers]]\ndriver = %s\nevents = [\"given_up\", \"recovered\", \"stale\"]", quoteTOML(driver))
	}
	return b.String()
}

func (d *jobDraft) writeSchedule(line func(string, ...any)) {
	switch {
	case d.at != "":
		hour, minute, _ := strings.Cut(d.at, ":")
		line("\n[[schedules]]\nid = \"daily\"\ntype = \"cron\"\nhours = [%s]\nminute = %s", number(hour), number(minute))
	case d.every != 0:
		line("\n[[schedules]]\nid = \"often\"\ntype = \"interval\"\ninterval_minutes = %d", d.every)
	case d.cron != "":
		line("\n[[schedules]]\nid = \"cron\"\ntype = \"expression\"\nexpression = %s", quoteTOML(d.cron))
	default:
		return
	}
	if d.zone != "" {
		line("timezone = %s", quoteTOML(d.zone))
	}
}

// number returns a part of a time of day for TOML. Text that is not a number stays a string, which
// the parser of manifests refuses.
func number(text string) string {
	n, err := strconv.Atoi(text)
	if err != nil {
		return quoteTOML(text)
	}
	return strconv.Itoa(n)
}

func quoteList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteTOML(w)
	}
	return strings.Join(quoted, ", ")
}

// splitCommand splits a simple line into words. Any other line is run by a shell.
func splitCommand(line string) []string {
	if strings.ContainsAny(line, "|&;<>()$`\\\"'*?[]#~=%{}!\n") {
		return []string{"sh", "-c", line}
	}
	return strings.Fields(line)
}

// quoteTOML returns a string of TOML. Its escapes are those of JSON, except for one character that
// JSON does not escape.
func quoteTOML(text string) string {
	raw, err := encodeJSON(text)
	if err != nil {
		return `""` // a string can always be encoded
	}
	return strings.ReplaceAll(string(raw), "\x7f", `\u007f`)
}
