package conformance

import (
	"fmt"
	"strings"
	"time"
)

// each fails a check for every report for which fault returns a text.
func (s *pythonSuite) each(t *trial, part string, fault func(pythonReport) string) {
	reports := s.calls(t, part)
	for _, r := range reports {
		if text := fault(r); text != "" {
			t.failf("%s", r.sentence(s.target.Path, text))
		}
	}
	if len(s.loaded.Hooks) == 0 {
		t.skipf("it has no handlers")
		return
	}
	if len(reports) == 0 {
		t.skipf("its handlers had not answered when the interpreter ended")
		return
	}
	t.passf("%s", plural(len(reports), "call"))
}

func (s *pythonSuite) answers(t *trial) {
	s.each(t, "usual", func(r pythonReport) string { return r.Error })
	switch done := len(s.calls(t, "large")) > 0 || len(s.loaded.Hooks) == 0; {
	case s.exit.over:
		t.failf("its handlers had not answered within %s%s", mostTime, stderrEnd(s.exit.stderr))
	case !done:
		t.failf("the interpreter ended with %s before its handlers had answered%s", s.exit.exit, stderrEnd(s.exit.stderr))
		t.fixWith("remove what ends the process, such as os._exit: the other plugins need it too")
	}
}

func (s *pythonSuite) types(t *trial) {
	if len(s.loaded.Wrong) > 0 { // the source shows it, also where the calls of this test do not come
		t.failf("%s: %s", s.target.Path, strings.Join(s.loaded.Wrong, "; "))
	}
	s.each(t, "", func(r pythonReport) string { return r.Wrong })
}

func (s *pythonSuite) inTime(t *trial) {
	s.each(t, "", func(r pythonReport) string {
		if r.Over || r.Blocked > s.limit(pythonHandler).Seconds() { // a blocked interpreter does not notice that the time is up
			return fmt.Sprintf("no answer within %s", s.limit(pythonHandler))
		}
		return ""
	})
}

func (s *pythonSuite) blocking(t *trial) {
	s.each(t, "usual", func(r pythonReport) string {
		if blocked := time.Duration(r.Blocked * float64(time.Second)); blocked > pythonBlock {
			return fmt.Sprintf("the interpreter could do nothing else for %s", blocked.Round(10*time.Millisecond))
		}
		return ""
	})
}

func (s *pythonSuite) inPlace(t *trial) {
	for _, r := range s.calls(t, "usual") {
		if r.Changed != "" {
			t.warnf("%s", r.sentence(s.target.Path, r.Changed))
		}
	}
}

func (s *pythonSuite) apart(t *trial) {
	s.each(t, "apart", s.newError)
}

// newError returns the exception of a call, unless python.hook.answers has reported the same one.
func (s *pythonSuite) newError(r pythonReport) string {
	for _, usual := range s.reports {
		if usual.Part == "usual" && usual.Hook == r.Hook && usual.Line == r.Line && usual.Error != "" {
			return ""
		}
	}
	return r.Error
}

func (s *pythonSuite) huge(t *trial) {
	s.each(t, "large", s.newError)
}

// ends checks that the interpreter exits in time after all handlers have answered. A thread of the
// plugin may keep it from exiting.
func (s *pythonSuite) ends(t *trial) {
	s.calls(t, "")
	switch {
	case s.results["python.hook.answers"].Status == Fail:
		t.skipf("its handlers did not answer")
	case s.exit.over:
		t.failf("the interpreter was still running when its time was over%s", stderrEnd(s.exit.stderr))
	case s.exit.exit.Code == harnessStuck:
		t.failf("the interpreter was still running %s after its last handler had answered%s", pythonExit, stderrEnd(s.exit.stderr))
	case s.exit.exit.Code != 0:
		t.failf("the interpreter ended with %s%s", s.exit.exit, stderrEnd(s.exit.stderr))
	}
}

// harnessStuck is the exit code of harness.py if a thread keeps the interpreter from exiting.
const harnessStuck = 97
