package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect/mine"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// lifecycle sends a lifecycle event.
func (s *mineSuite) lifecycle(t *trial, event string) *returned {
	r, err := s.run(s.call(fmt.Sprintf(`{"protocol_version":"1.0.0","type":"lifecycle","event":%q}`, event), mineLifecycle))
	switch {
	case err != nil:
		t.failStart(err)
	case r.over:
		t.failf("%s did not end within %s", event, s.limit(mineLifecycle))
	case r.exit.Signal != "": // it may end with any exit code: row M58
		t.checkCrash(event, r.exit, r.stderr)
	}
	return r
}

func (s *mineSuite) health(t *trial) {
	r := s.lifecycle(t, "health")
	switch {
	case t.failed():
	case r.exit.Code != 0 || len(strings.TrimSpace(string(r.stdout))) == 0:
		t.skipf("it does not answer health, which is optional (%s)", r.exit)
	default:
		o, err := rawjson.Parse([]byte(strings.TrimSpace(string(r.stdout))))
		if status, _ := o.String("status"); err != nil || status != "ok" {
			t.failf("health was answered with %s", shown(r.stdout))
		}
	}
}

func (s *mineSuite) brief(t *trial) {
	s.lifecycle(t, "init")
	if !t.failed() {
		s.lifecycle(t, "shutdown")
	}
}

// anyHook returns a hook of the plugin, a transform hook if there is one; false: it has none.
func (s *mineSuite) anyHook() (mine.Registration, bool) {
	if hooks := append(s.hooksOf("transform"), s.hooksOf("notify")...); len(hooks) > 0 {
		return hooks[0], true
	}
	return mine.Registration{}, false
}

func (s *mineSuite) version(t *trial) {
	h, ok := s.anyHook()
	if !ok {
		t.skipf("it has no hooks")
		return
	}
	message := strings.Replace(hookMessage(h.Stage, h.Mode, contexts(h)[0]), `"1.0.0"`, `"99.0.0"`, 1)
	r := s.mustEnd(t, message, h.Timeout)
	switch {
	case t.failed() || s.checkDeath(t, "a call of protocol version 99.0.0", r):
	case r.exit.Code == 0:
		t.warnf("it accepts a call of protocol version 99.0.0")
	}
}

// mustEnd makes a call that needs no answer, but must end in time.
func (s *mineSuite) mustEnd(t *trial, message string, within time.Duration) *returned {
	r, err := s.run(s.call(message, within))
	switch {
	case err != nil:
		t.failStart(err)
	case r.over:
		t.failf("it did not end within %s of stdin %s", s.limit(within), shown(message))
	case r.exit.Signal != "": // an exit code may be its answer
		t.checkCrash("a call with stdin "+shown(message), r.exit, r.stderr)
	}
	return r
}

func (s *mineSuite) unknown(t *trial) {
	h, _ := s.anyHook()
	context := contexts(mine.Registration{Pattern: "todo.add", Stage: h.Stage})[0]
	for _, message := range []string{
		`{"protocol_version":"1.0.0","type":"conformance"}`,
		hookMessage("conformance", "transform", context),
	} {
		r := s.mustEnd(t, message, mineLifecycle)
		if t.failed() {
			return
		}
		if o, err := rawjson.Parse([]byte(strings.TrimSpace(string(r.stdout)))); err == nil && r.exit.Code == 0 {
			var changed struct{ Command, Args, Flags json.RawMessage }
			_ = json.Unmarshal(o.Get("context"), &changed)
			if sent, _ := rawjson.Parse(context); len(changed.Args) > 0 && !rawjson.Equal(changed.Args, sent.Get("args")) {
				t.warnf("it changes the context at a stage that does not exist")
			}
		}
	}
}

func (s *mineSuite) garbled(t *trial) {
	for _, stdin := range []string{"", "this is not JSON", `{"protocol_version":"1.0.`} {
		r := s.mustEnd(t, stdin, mineLifecycle)
		if t.failed() {
			return
		}
		if r.exit.Code == 0 {
			t.warnf("it exits with 0 after stdin %s", shown(stdin))
		}
	}
}

func (s *mineSuite) huge(t *trial) {
	h := s.hooksOf("transform")[0]
	text := rawjson.String(strings.Repeat("a line of output, as long as lines of output are\n", 1<<20/49))
	context := json.RawMessage(fmt.Sprintf(`{"command":%s,"args":["a"],"flags":{},"result":{"stdout":%s,"stderr":"","exit_code":0},"timestamp":"2026-01-15T10:30:00Z"}`,
		json.RawMessage(contextName(h)), text))
	r := s.transform(t, h, context)
	if t.failed() || r.exit.Code == 0 {
		return
	}
	if short := s.transform(t, h, contexts(h)[0]); !t.failed() && short.exit != r.exit {
		t.failf("the hook %s ended with %s, and with a short context %s%s", h.Stage, r.exit, short.exit, stderrEnd(r.stderr))
	}
}

// contextName returns the command in a hook's context, as JSON.
func contextName(h mine.Registration) json.RawMessage {
	o, _ := rawjson.Parse(contexts(h)[0]) // we wrote it
	return o.Get("command")
}

func (s *mineSuite) together(t *trial) {
	h, ok := s.anyHook()
	if !ok {
		t.skipf("it has no hooks")
		return
	}
	alone, err := s.run(s.call(hookMessage(h.Stage, h.Mode, contexts(h)[0]), h.Timeout))
	if err != nil {
		t.failStart(err)
		return
	}
	t.sideBySide(4, func(int) string {
		r, err := s.run(s.call(hookMessage(h.Stage, h.Mode, contexts(h)[0]), h.Timeout))
		switch {
		case err != nil:
			text, _ := startFault(err)
			return text
		case r.over:
			return fmt.Sprintf("not finished within %s", s.limit(h.Timeout))
		case r.exit.Code != alone.exit.Code:
			return fmt.Sprintf("%s, and alone %s%s", r.exit, alone.exit, stderrEnd(r.stderr))
		}
		return ""
	})
}

func (s *mineSuite) late(t *trial) {
	h := s.hooksOf("transform")[0]
	c := s.call(hookMessage(h.Stage, h.Mode, contexts(h)[0]), h.Timeout)
	c.late = s.startup*2 + 200*time.Millisecond
	r, err := s.run(c)
	switch {
	case err != nil:
		t.failStart(err)
	case len(r.early) > 0:
		t.failf("it answered before stdin was written: %s", shown(r.early))
	case r.over:
		t.failf("it did not end within %s of its call", s.limit(h.Timeout))
	}
}

// leftRunning sums up the processes that were left running. In a sandbox with namespaces there can
// be none.
func leftRunning(t *trial) {
	if yes, _ := t.confined(); yes && t.system.Namespaces == nil {
		t.skipf("its sandbox ends with it, and everything inside")
		return
	}
	summary(sawLeft, "nothing was left running")(t)
}

// denied sums up what the sandbox refused.
func denied(t *trial) {
	if yes, why := t.confined(); !yes {
		t.skipf("it did not run in a sandbox: %s", why)
		return
	}
	summary(sawDenied, "its sandbox noticed no use of anything undeclared")(t)
}
