package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// A Status is what became of a check.
type Status string

// The statuses.
const (
	Pass Status = "pass"
	Fail Status = "fail" // the plugin breaks the rule
	Warn Status = "warn" // it keeps the rule, and something about it is worth a change
	Skip Status = "skip" // the check was not made; the message says why
)

// A Check is one rule of a protocol, and a way to find out whether a plugin keeps it.
type Check struct {
	ID    string   `json:"id"`   // stable, e.g. kaged.handshake.version
	Does  string   `json:"does"` // what is tried
	Rule  string   `json:"rule"` // the sentence of the protocol
	Row   string   `json:"row"`  // where that sentence stands in the dialect's page, e.g. K12
	Fix   string   `json:"fix"`  // what a plugin's author does about it
	needs []string // checks whose failure leaves nothing to be tried here
	sums  bool     // it speaks of what was seen in the whole run
	run   func(*trial)
}

// Page is the page of docs/ that has the rule.
func (c *Check) Page() string {
	dialect, _, _ := strings.Cut(c.ID, ".")
	return "docs/protocols/" + dialect + ".md"
}

// Spec is the rule with its place, on one line.
func (c *Check) Spec() string { return fmt.Sprintf("%s %s: %s", c.Page(), c.Row, c.Rule) }

// A Result is what a check came to.
type Result struct {
	ID      string `json:"id"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Spec    string `json:"spec"`
	Fix     string `json:"fix"` // empty unless there is something to mend
}

// A Report is a whole run.
type Report struct {
	Plugin  string   `json:"plugin"`
	Dialect string   `json:"dialect"`
	OK      bool     `json:"ok"` // no check has failed
	Checks  []Result `json:"checks"`
}

// Count is how many checks came to a status.
func (r *Report) Count(s Status) int {
	n := 0
	for _, c := range r.Checks {
		if c.Status == s {
			n++
		}
	}
	return n
}

// A trial is one check under way. What it reports first counts, but for a failure, which goes
// before everything else.
type trial struct {
	*bench
	check  *Check
	status Status
	text   string
	fix   string
}

// failf says how the plugin breaks the rule.
func (t *trial) failf(format string, args ...any) {
	if t.status != Fail {
		t.status, t.text = Fail, fmt.Sprintf(format, args...)
	}
}

// warnf says what is worth a change.
func (t *trial) warnf(format string, args ...any) { t.report(Warn, format, args...) }

// skipf says why the check was not made.
func (t *trial) skipf(format string, args ...any) { t.report(Skip, format, args...) }

// passf says what was seen.
func (t *trial) passf(format string, args ...any) { t.report(Pass, format, args...) }

func (t *trial) report(s Status, format string, args ...any) {
	if t.status == "" {
		t.status, t.text = s, fmt.Sprintf(format, args...)
	}
}

// fixWith replaces the check's usual advice by one that fits the case better; an empty one changes
// nothing.
func (t *trial) fixWith(fix string) {
	if fix != "" {
		t.fix = fix
	}
}

// plural is a number of things.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func (t *trial) failed() bool { return t.status == Fail }

// result is what the trial came to.
func (t *trial) result() Result {
	t.passf("") // a check that found nothing to say has passed
	r := Result{ID: t.check.ID, Status: t.status, Message: t.text, Spec: t.check.Spec()}
	if t.status == Fail || t.status == Warn {
		r.Fix = t.check.Fix
		if t.fix != "" {
			r.Fix = t.fix
		}
	}
	return r
}

// Dialects are the protocols that have checks.
func Dialects() []string { return []string{"dotagent", "mine", "kaged", "scaffold", "python", "mcp"} }

// Checks lists the checks of a dialect, in the order in which they are made; nil where there is no
// such dialect.
func Checks(dialect string) []Check {
	b := &bench{target: Target{Dialect: dialect}}
	return b.suite()
}

// Known reports whether there is a check of that id in any dialect.
func Known(id string) bool {
	dialect, _, _ := strings.Cut(id, ".")
	return slices.ContainsFunc(Checks(dialect), func(c Check) bool { return c.ID == id })
}
