package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/internal/schema/sample"
	"github.com/patchbay-dev/patchbay/rawjson"
)

func (s *dotagentSuite) configRefused(t *trial) {
	t.checkRefusals(s.schema, func(bad json.RawMessage) bool {
		r, err := s.run(s.verb("validate", append(slices.Clone(bad), '\n'), dotagentValidate))
		if err != nil || r.over || t.checkCrash("validate with config "+shown(bad), r.exit, r.stderr) {
			return true
		}
		o, _ := rawjson.Parse(r.stdout)
		return r.exit.Code != 0 || string(o.Get("ok")) == "false"
	})
}

// checkRefusals warns if a field of a config may have a value of any type. asked reports whether
// the plugin itself refuses a config; nil: it is not asked.
func (t *trial) checkRefusals(raw json.RawMessage, asked func(json.RawMessage) bool) {
	bad := misfits(raw)
	if len(bad) == 0 {
		t.skipf("its schema has no properties")
		return
	}
	compiled, _ := schema.Compile(raw)
	for _, m := range bad {
		if len(compiled.Check(m.value)) == 0 && (asked == nil || !asked(m.value)) {
			t.warnf("config.%s may be %s: nothing refuses it", m.field, shown(m.wrong))
			return
		}
	}
	t.passf("refused %d of %d configs that do not fit", len(bad), len(bad))
}

// configs returns configs that fit the plugin's schema. After validate was called, it returns only
// the configs that validate accepted, because no host calls invoke with another config.
func (s *dotagentSuite) configs() []sample.Value {
	if s.fitting != nil {
		return s.fitting
	}
	if s.schema == nil {
		return []sample.Value{{Size: sample.Minimal, JSON: json.RawMessage(`{}`)}}
	}
	return samples(s.schema)
}

func (s *dotagentSuite) validateReply(t *trial) {
	configs := s.configs()
	if len(configs) == 0 {
		t.skipf("no config could be made that fits its schema")
		return
	}
	var accepted []sample.Value
	for _, c := range configs {
		what := "validate with " + c.Size + " config"
		o, r := s.answer(t, what, s.verb("validate", append(slices.Clone(c.JSON), '\n'), dotagentValidate))
		if t.failed() {
			return
		}
		s.checkReply(t, what, o, r)
		if string(o.Get("ok")) == "true" {
			accepted = append(accepted, c)
		}
	}
	s.fitting = accepted
	t.passf("accepts %d of %d configs that fit its schema", len(accepted), len(configs))
}

// checkReply checks the form of a reply.
func (s *dotagentSuite) checkReply(t *trial, what string, o rawjson.Object, r *returned) {
	if o == nil {
		return // it failed in an allowed way
	}
	switch ok := string(o.Get("ok")); {
	case ok != "true" && ok != "false":
		t.failf("%s: ok is neither true nor false: %s", what, shown(o.JSON()))
	case ok == "true" && r.exit.Code != 0:
		s.seen.note(sawExit, "%s answered {\"ok\":true} and ended with %s", what, r.exit)
	case ok == "false":
		if reason, isText := o.String("error"); !isText || reason == "" {
			s.seen.note(sawUnsaid, "%s: a refusal without an error that is a string: %s", what, shown(o.JSON()))
		}
	}
	if v := o.Get("suggest"); !rawjson.Missing(v) && v[0] != '"' {
		s.seen.note(sawUnsaid, "%s: suggest is not a string: %s", what, shown(v))
	}
}

// payload returns the stdin of invoke.
func payload(kind, event, message string, config json.RawMessage) []byte {
	m := json.RawMessage("null")
	if kind != "preflight" {
		m = rawjson.String(message)
	}
	return append(rawjson.Object{{Name: "kind", Value: rawjson.String(kind)}, {Name: "agent", Value: rawjson.String("conformance")},
		{Name: "schedule", Value: rawjson.String("manual")}, {Name: "event", Value: rawjson.String(event)},
		{Name: "message", Value: m}, {Name: "config", Value: config}}.JSON(), '\n')
}

// dotagentEvents lists the events of each kind.
var dotagentEvents = map[string][]string{"preflight": {"preflight"}, "sink": {"success"},
	"notify": {"success", "attempt_failed", "timed_out", "given_up", "recovered", "stale"}}

func (s *dotagentSuite) invokeReply(t *trial) {
	configs, n := s.configs(), 0
	if len(configs) == 0 {
		t.skipf("no config could be made that fits its schema")
		return
	}
	for _, kind := range s.kinds {
		messages := []string{"hello, world\n", sample.Odd + "\n", ""}
		for i, c := range configs {
			events := dotagentEvents[kind]
			if i > 0 {
				events = events[:1]
			}
			for j, event := range events {
				what := fmt.Sprintf("invoke of a %s (%s, %s config %s)", kind, event, c.Size, excerpt.Of(c.JSON, 80))
				o, r := s.answer(t, what, s.verb("invoke", payload(kind, event, messages[(i+j)%len(messages)], c.JSON), dotagentTimes[kind]))
				if t.failed() {
					return
				}
				s.checkReply(t, what, o, r)
				n++
			}
		}
	}
	t.passf("%d calls answered", n)
}

func (s *dotagentSuite) exitCode(t *trial) { summary(sawExit, "exit codes agree with the answers")(t) }

func (s *dotagentSuite) replyFields(t *trial) { summary(sawUnsaid, "refusals have reasons")(t) }

// answeredCall returns a call of invoke as dotagent.invoke.reply makes it. Checks that use it need
// that check, so the plugin answers.
func (s *dotagentSuite) answeredCall(message string) call {
	kind := s.kinds[0]
	return s.verb("invoke", payload(kind, dotagentEvents[kind][0], message, s.configs()[0].JSON), dotagentTimes[kind])
}

func (s *dotagentSuite) huge(t *trial) {
	if s.kinds[0] == "preflight" && len(s.kinds) == 1 {
		t.skipf("a preflight gets no message")
		return
	}
	kind := s.kinds[len(s.kinds)-1]
	invoke := func(message string) call {
		return s.verb("invoke", payload(kind, dotagentEvents[kind][0], message, s.configs()[0].JSON), dotagentTimes[kind])
	}
	short, err := s.run(invoke("hello"))
	o, r := s.answer(t, "invoke with 1 MiB", invoke(strings.Repeat("a line of output, as long as lines of output are\n", 1<<20/49)))
	if err == nil && r != nil && r.exit != short.exit {
		t.failf("invoke with 1 MiB ended with %s, with less %s%s", r.exit, short.exit, stderrEnd(r.stderr))
	}
	s.checkReply(t, "invoke with 1 MiB", o, r)
}

func (s *dotagentSuite) garbled(t *trial) {
	var agreed []string // for each verb that answers ok to an invalid input: the first such input
	for _, verb := range []string{"validate", "invoke"} {
		for _, stdin := range []string{"", "this is not JSON\n", "{\"kind\":\"si", "[1,2,3]\n"} {
			r, err := s.run(s.verb(verb, []byte(stdin), dotagentValidate))
			switch {
			case err != nil:
				text, _ := startFault(err)
				t.failf("%s: %s", verb, text)
			case r.over:
				t.failf("%s did not end within %s of stdin %s", verb, s.limit(dotagentValidate), shown(stdin))
			case r.exit.Signal != "": // an exit code may be its answer
				t.checkCrash(fmt.Sprintf("%s with stdin %s", verb, shown(stdin)), r.exit, r.stderr)
			case r.exit.Code == 0 && strings.Contains(strings.ReplaceAll(string(r.stdout), " ", ""), `"ok":true`):
				if last := len(agreed) - 1; last < 0 || !strings.HasPrefix(agreed[last], verb) {
					agreed = append(agreed, fmt.Sprintf("%s answers {\"ok\":true} to stdin %s", verb, shown(stdin)))
				}
			}
			if t.failed() {
				return
			}
		}
	}
	if len(agreed) > 0 {
		t.warnf("%s", strings.Join(agreed, "; "))
	}
}

func (s *dotagentSuite) unknownVerb(t *trial) {
	r, err := s.run(s.verb("conformance-no-such-verb", []byte("{}\n"), dotagentInfo))
	switch {
	case err != nil:
		t.failStart(err)
	case r.over:
		t.failf("it did not end within %s", s.limit(dotagentInfo))
	case t.checkCrash("a verb that does not exist", r.exit, r.stderr):
	case r.exit.Code == 0:
		t.warnf("it exits with 0 for a verb that does not exist")
	default:
		t.passf("%s", r.exit)
	}
}

func (s *dotagentSuite) together(t *trial) {
	alone, err := s.run(s.answeredCall("hello"))
	if err != nil {
		t.failStart(err)
		return
	}
	t.sideBySide(4, func(i int) string {
		c := s.answeredCall(fmt.Sprintf("message %d", i))
		r, err := s.run(c)
		switch {
		case err != nil:
			text, _ := startFault(err)
			return text
		case r.over:
			return fmt.Sprintf("no answer within %s", s.limit(c.within))
		case r.exit != alone.exit:
			return fmt.Sprintf("%s, and alone %s%s", r.exit, alone.exit, stderrEnd(r.stderr))
		}
		return ""
	})
}

// sideBySide calls do n times at once, and fails the check if a call returns a fault.
func (t *trial) sideBySide(n int, do func(i int) string) {
	faults := make([]string, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { faults[i] = do(i) })
	}
	wait.Wait()
	for i, fault := range faults {
		if fault != "" {
			t.failf("%d of %d at once: %s", i+1, n, fault)
			return
		}
	}
	t.passf("%d at once", n)
}

func (s *dotagentSuite) late(t *trial) {
	c := s.answeredCall("hello")
	c.late = s.startup*2 + 200*time.Millisecond
	o, r := s.answer(t, "invoke", c)
	switch {
	case t.failed():
	case len(r.early) > 0:
		t.failf("it answered before stdin was written: %s", shown(r.early))
	default:
		s.checkReply(t, "invoke", o, r)
	}
}

func (s *dotagentSuite) term(t *trial) {
	t.checkEnds(call{launch: s.verb("invoke", nil, 0).launch, open: true, fixed: true, within: s.startup*2 + 300*time.Millisecond, grace: dotagentGrace})
}

// checkEnds fails a check if SIGTERM does not end a process that waits for its stdin.
func (t *trial) checkEnds(c call) {
	r, err := t.run(c)
	switch {
	case err != nil:
		t.failStart(err)
	case r.killed:
		t.failf("it was still running %s after SIGTERM, and had to be killed", c.grace)
	default:
		t.passf("%s", r.exit)
	}
}
