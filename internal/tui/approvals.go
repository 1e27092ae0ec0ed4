package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/approval"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// approvals lists the commands that run without a question, or withdraws some of them.
func (s *screen) approvals(arg string) tea.Cmd {
	verb, which, _ := strings.Cut(arg, " ")
	switch {
	case s.approver.project() == nil:
		s.printNote("no tool asks in this conversation, so nothing is remembered")
	case arg == "":
		s.listApprovals()
	case verb == "remove" && strings.TrimSpace(which) != "":
		s.withdraw(strings.TrimSpace(which))
	default:
		s.printError("write /approvals, or /approvals remove NUMBER|COMMAND|all")
	}
	return nil
}

func (s *screen) listApprovals() {
	rules, err := s.approver.project().Rules()
	if err != nil {
		s.printError(errorText(err))
		return
	}
	var pairs [][2]string
	for i, r := range rules {
		pairs = append(pairs, [2]string{fmt.Sprintf("%3d  %s", i+1, r), ruleText(r)})
	}
	if len(pairs) == 0 {
		s.printNote("no command is remembered for " + render.Line(s.short(s.approver.project().Root)) + ": press p at a question to remember its command")
	} else {
		s.printPairs(pairs)
		s.printNote("in " + render.Line(s.short(s.approver.project().Root)) + "; /approvals remove NUMBER withdraws one")
	}
	if tools := s.approver.tools(); len(tools) > 0 {
		s.printNote("in this session, always: " + render.Line(strings.Join(tools, ", ")))
	}
}

// ruleText says what a rule allows.
func ruleText(r approval.Rule) string {
	switch {
	case len(r.Prefix) == 0:
		return "exactly this command"
	case r.Any:
		return "with any arguments"
	}
	return "with arguments that stay in the project"
}

// tools lists the tools that are always allowed in this session.
func (a *Approver) tools() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for name := range a.always {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// withdraw removes one rule, by its number or its text, or all rules.
func (s *screen) withdraw(which string) {
	rules, err := s.approver.project().Rules()
	if err != nil {
		s.printError(errorText(err))
		return
	}
	gone := func(r approval.Rule) bool { return which == "all" || r.Called(which) }
	if n, err := strconv.Atoi(which); err == nil && n >= 1 && n <= len(rules) {
		gone = rules[n-1].Same
	}
	removed, err := s.approver.project().Remove(gone)
	switch {
	case err != nil:
		s.printError(errorText(err))
	case len(removed) == 0:
		s.printError("no such approval: " + which + "\n/approvals lists the approvals")
	}
	for _, r := range removed {
		s.printNote("withdrawn: " + render.Line(r.String()))
	}
}

// approvalChoices lists the rules that can be withdrawn, for the menu.
func (s *screen) approvalChoices() []choice {
	if s.approver.project() == nil {
		return nil
	}
	rules, err := s.approver.project().Rules()
	if err != nil || len(rules) == 0 {
		return nil // /approvals prints the error
	}
	out := []choice{{text: "remove", about: "withdraw one"}}
	for _, r := range rules {
		if !strings.Contains(r.String(), "\n") {
			out = append(out, choice{text: "remove " + r.String(), about: ruleText(r)})
		}
	}
	return append(out, choice{text: "remove all", about: "all approvals of this project"})
}
