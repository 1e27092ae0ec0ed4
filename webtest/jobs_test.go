package webtest

import (
	"os"
	"path/filepath"
	"testing"
)

// A run that is started on the page shows its output, its end, and its entry in the history.
func TestRunNow(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/jobs")
	p.seeIn("[data-job='greeter/often']", "never")
	p.until("the time line to say that more runs follow than are listed", `document.querySelectorAll('[data-more]').length === 1`)
	p.click("[data-job='greeter/often'] button")
	p.seeIn("main h1", "often")
	p.see("good morning")
	p.until("the run to be running", `document.querySelector('[data-state=running]')`)
	p.picture("run-live")
	p.checkAxe()
	s.write("go-on", "")
	p.see("good bye")
	p.until("the run to have succeeded", `document.querySelector('.head [data-state=succeeded]')`)
	p.see("success")
	p.picture("run-over")
	p.click("nav a[href='/jobs']")
	p.until("the history to have it", `document.querySelector('[data-run^="greeter/often/"] [data-state=succeeded]')`)
	p.seeIn("[data-job='greeter/often']", "+1")
}

// A run is cancelled after a question.
func TestCancelRun(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/jobs/greeter")
	p.click("[data-job='greeter/morning'] button")
	p.see("good morning")
	p.click("=Cancel")
	p.see("Cancel this run?")
	p.picture("confirm")
	p.click("=Cancel the run")
	p.until("the run to be cancelled", `document.querySelector('.head [data-state=cancelled]')`)
	p.unsee("Cancel this run?")
}

// A run that fails says why, attempt by attempt.
func TestFailedRun(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/jobs")
	p.click("[data-job='flaky/weekly'] button")
	p.until("the run to be given up", `document.querySelector('.head [data-state=given_up]')`)
	p.see("exit code 3")
	p.see("attempt_failed")
	p.see("given_up")
	p.picture("run-failed")
	p.checkAxe()
}

// Two broken agents whose folders have the same name are both listed.
func TestBrokenTwins(t *testing.T) {
	s := newSite(t, func(home string) {
		for _, dir := range []string{".config/patchbay/agents/twin", ".config/dotagent/agents/twin"} {
			file := filepath.Join(home, dir, "agent.toml")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("[agent\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
	p := newTab(t, s, "/jobs")
	p.until("both to be listed", `document.querySelectorAll('[data-job="twin/"]').length === 2`)
}
