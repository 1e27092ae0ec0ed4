package conformance

import (
	"fmt"
	"strings"
)

// A Status says how a check ended.
type Status string

// The statuses.
const (
	Pass Status = "pass"
	Fail Status = "fail" // the plugin breaks the rule
	Warn Status = "warn" // it keeps the rule, but something should be changed
	Skip Status = "skip" // the check was not run; the message says why
)

// A Check is one rule of a protocol, and a function that finds out whether a plugin keeps it.
type Check struct {
	ID    string   `json:"id"`   // stable, e.g. kaged.handshake.version
	Does  string   `json:"does"` // what is tried
	Rule  string   `json:"rule"` // the sentence of the protocol
	Row   string   `json:"row"`  // the row of the dialect's page that has the sentence, e.g. K12
	Fix   string   `json:"fix"`  // what the plugin's author must change
	needs []string // checks that must pass before this one is tried
	after []string // checks that must run before this one, because it uses what they read; they need not pass
	sums  bool     // it sums up faults that were seen in the whole run
	run   func(*trial)
}

// Page returns the page of docs/ that has the rule.
func (c *Check) Page() string {
	dialect, _, _ := strings.Cut(c.ID, ".")
	return "docs/protocols/" + dialect + ".md"
}

// Spec returns the rule with its place, on one line.
func (c *Check) Spec() string { return fmt.Sprintf("%s %s: %s", c.Page(), c.Row, c.Rule) }

// A Result says how one check ended.
type Result struct {
	ID      string `json:"id"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Spec    string `json:"spec"`
	Fix     string `json:"fix"` // empty if there is nothing to fix
}

// A Report is a whole run.
type Report struct {
	Plugin  string   `json:"plugin"`
	Dialect string   `json:"dialect"`
	OK      bool     `json:"ok"` // no check has failed
	Checks  []Result `json:"checks"`
}

// Count returns how many checks have a status.
func (r *Report) Count(s Status) int {
	n := 0
	for _, c := range r.Checks {
		if c.Status == s {
			n++
		}
	}
	return n
}

// A trial is one running check. Its first report counts, except that a failure replaces any other.
type trial struct {
	*bench
	check  *Check
	status Status
	text   string
	fix    string
}

// failf reports how the plugin breaks the rule.
func (t *trial) failf(format string, args ...any) {
	if t.status != Fail {
		t.status, t.text = Fail, fmt.Sprintf(format, args...)
	}
}

// warnf reports what should be changed.
func (t *trial) warnf(format string, args ...any) { t.report(Warn, format, args...) }

// skipf reports why the check was not run.
func (t *trial) skipf(format string, args ...any) { t.report(Skip, format, args...) }

// passf reports what was seen.
func (t *trial) passf(format string, args ...any) { t.report(Pass, format, args...) }

func (t *trial) report(s Status, format string, args ...any) {
	if t.status == "" {
		t.status, t.text = s, fmt.Sprintf(format, args...)
	}
}

// fixWith replaces the check's usual advice with one that fits the case better. An empty fix
// changes nothing.
func (t *trial) fixWith(fix string) {
	if fix != "" {
		t.fix = fix
	}
}

// plural returns a number with its noun, such as "2 calls".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func (t *trial) failed() bool { return t.status == Fail }

// result returns the result of the check.
func (t *trial) result() Result {
	t.passf("") // a check without a report has passed
	r := Result{ID: t.check.ID, Status: t.status, Message: t.text, Spec: t.check.Spec()}
	if t.status == Fail || t.status == Warn {
		r.Fix = t.check.Fix
		if t.fix != "" {
			r.Fix = t.fix
		}
	}
	return r
}

// Dialects lists the protocols that have checks.
func Dialects() []string { return []string{"dotagent", "mine", "kaged", "scaffold", "python", "mcp"} }

// Checks lists the checks of a dialect in the order of a run; nil if there is no such dialect.
func Checks(dialect string) []Check {
	b := &bench{target: Target{Dialect: dialect}}
	return b.suite()
}
