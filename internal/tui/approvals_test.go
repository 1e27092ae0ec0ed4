package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/approval"
)

// remembering returns a screen whose approver stores rules in a file.
func remembering(t *testing.T, test func(d *driver, p approval.Project)) {
	t.Helper()
	p := approval.Store{Path: filepath.Join(t.TempDir(), approval.FileName)}.Project("/home/somebody/project")
	drive(t, func(d *driver) {
		d.s.approver.Begin(p)
		test(d, p)
	})
}

func TestApprovalsOfAProject(t *testing.T) {
	t.Run("p remembers the prefix, and the next command like it runs without a question", func(t *testing.T) {
		remembering(t, func(d *driver, p approval.Project) {
			first := d.ask(d.t.Context(), "shell", `{"cmd":"git status -s"}`)
			d.wantLive("Run this command?", "p always `git status …` in this project")
			d.keys("p")
			d.wantPrinted("remembered for this project: git status …")
			if again := d.ask(d.t.Context(), "shell", `{"cmd":"git status"}`); !first.answer.Allowed || !again.answer.Allowed {
				t.Errorf("%+v, %+v", first, again)
			}
			for _, cmd := range []string{"git status; rm -rf /", "git status && x", "git -c a=b status", "rm x"} {
				if a := d.ask(d.t.Context(), "shell", `{"cmd":"`+cmd+`"}`); a.done {
					t.Errorf("the user was not asked about %s", cmd)
				}
				d.keys("n")
			}
			if a := d.ask(d.t.Context(), "write_file", `{"cmd":"git status"}`); a.done {
				t.Error("the user was not asked about another tool")
			}
		})
	})
	t.Run("a command that has no prefix is remembered as it is", func(t *testing.T) {
		remembering(t, func(d *driver, _ approval.Project) {
			d.ask(d.t.Context(), "shell", `{"cmd":"cd a && make"}`)
			d.wantLive("p always exactly this command in this project")
			d.keys("p")
			if a := d.ask(d.t.Context(), "shell", `{"cmd":"cd a && make"}`); !a.answer.Allowed {
				t.Errorf("%+v", a)
			}
		})
	})
	t.Run("p also answers similar questions that wait", func(t *testing.T) {
		remembering(t, func(d *driver, _ approval.Project) {
			d.ask(d.t.Context(), "shell", `{"cmd":"git diff a"}`)
			same, other := d.ask(d.t.Context(), "shell", `{"cmd":"git diff b"}`), d.ask(d.t.Context(), "shell", `{"cmd":"git diff b; x"}`)
			d.keys("p")
			if !same.answer.Allowed || other.done {
				t.Errorf("%+v, %+v", same, other)
			}
		})
	})
	t.Run("/approvals lists and withdraws", func(t *testing.T) {
		remembering(t, func(d *driver, p approval.Project) {
			d.enter("/approvals")
			d.wantPrinted("no command is remembered for /home/somebody/project")
			for _, r := range []approval.Rule{{Prefix: []string{"git", "log"}}, {Exact: "make a; make b"}, {Prefix: []string{"kubectl"}, Any: true}} {
				if err := p.Add(r); err != nil {
					t.Fatal(err)
				}
			}
			d.enter("/approvals")
			d.wantPrinted("1  git log …", "with arguments that stay in the project", "2  make a; make b", "exactly this command", "with any arguments")
			d.write("/approvals remove ")
			d.wantLive("/approvals remove git log …", "/approvals remove all")
			d.write("git")
			d.keys("tab", "enter")
			d.wantPrinted("withdrawn: git log …")
			d.enter("/approvals remove 1")
			d.wantPrinted("withdrawn: make a; make b")
			d.enter("/approvals remove nothing")
			d.wantPrinted("no such approval: nothing")
			d.enter("/approvals remove all")
			d.wantPrinted("withdrawn: kubectl …")
			if rules, err := p.Rules(); err != nil || len(rules) > 0 {
				t.Errorf("%v, %v", rules, err)
			}
		})
	})
	t.Run("a damaged file allows nothing, and the question says so", func(t *testing.T) {
		remembering(t, func(d *driver, p approval.Project) {
			if err := p.Add(approval.Rule{Exact: "ls"}); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p.Path(), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
			a := d.ask(d.t.Context(), "shell", `{"cmd":"ls"}`)
			d.wantLive("remembered approvals:", "Run this command?")
			if d.keys("p"); a.done {
				t.Error("it was remembered in a damaged file")
			}
			d.enter("n")
			d.enter("/approvals")
			d.wantPrinted("the file allows nothing")
		})
	})
}

func TestInstead(t *testing.T) {
	t.Run("the text about what to do instead is the reason of the refusal", func(t *testing.T) {
		drive(t, func(d *driver) {
			a := d.ask(d.t.Context(), "shell", `{"cmd":"rm -r build"}`)
			d.wantLive("i no, do this instead")
			d.keys("i")
			d.wantLive("What should be done instead?", "$ rm -r build")
			d.write("move it to y")
			d.keys("enter")
			if !a.done || a.answer.Allowed || !strings.HasSuffix(a.answer.Reason, "says what to do instead: move it to y") {
				t.Errorf("%+v", a)
			}
			d.wantLive("Ask anything")
		})
	})
	t.Run("Esc and Ctrl-C go back to the question, and an empty line answers nothing", func(t *testing.T) {
		drive(t, func(d *driver) {
			a := d.ask(d.t.Context(), "shell", `{"cmd":"x"}`)
			for _, key := range []string{"esc", "ctrl+c"} {
				d.keys("i", "enter")
				d.write("yy")
				d.keys(key)
				d.wantLive("y yes")
			}
			if a.done {
				t.Errorf("answered: %+v", a)
			}
			if d.keys("y"); a.answer != (chat.Approval{Allowed: true}) {
				t.Errorf("%+v", a)
			}
		})
	})
	t.Run("it fits a small screen", func(t *testing.T) {
		driveWith(t, driverOptions{width: 30, height: 8}, func(d *driver) {
			d.ask(d.t.Context(), "shell", `{"cmd":"a\nb\nc\nd\ne\nf\ng\nh"}`)
			d.keys("i")
			d.write("one two three four five six seven eight nine ten eleven twelve")
			d.wantLive("twelve")
		})
	})
}

// TestSessionsShareNoApprovals: a tool that was always allowed in one session is asked about in the
// next.
func TestSessionsShareNoApprovals(t *testing.T) {
	a := NewApprover()
	a.always["shell"] = true
	a.Begin(approval.Project{})
	if a.allowed("shell") {
		t.Error("the next session allows what the last one did")
	}
}
