package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// eventsOf returns the events of one kind about plugins in the journal.
func (s *served) eventsOf(kind string) (all []pluginEvent) {
	s.t.Helper()
	events, err := s.Journal.Read(s.t.Context(), 0, journal.Filter{Kinds: []string{kind}}, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events {
		var one pluginEvent
		if err := json.Unmarshal(e.Data, &one); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// awaitPluginEvents waits until events about plugins are written.
func (s *served) awaitPluginEvents() {
	s.t.Helper()
	eventually.True(s.t, "events are served", func() bool {
		s.pluginEvents.mu.Lock()
		defer s.pluginEvents.mu.Unlock()
		return s.pluginEvents.open
	})
}

// staysDown makes the plugin of kagedHome wait after a crash, until there is a file named up.
// Otherwise it could be up again before its state is looked at.
func (h testHome) staysDown() {
	h.t.Helper()
	const path = ".local/share/kaged/plugins/notes/run.sh"
	text, err := os.ReadFile(filepath.Join(h.home, path))
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(path, "until [ ! -e crashed ] || [ -e up ]; do sleep 0.05; done\n"+strings.Replace(string(text), "exit 3", ": >crashed; exit 3", 1))
}

// TestACrashIsAnEvent checks the events of a plugin that crashes: it is down, its last lines, it is
// up again.
func TestACrashIsAnEvent(t *testing.T) {
	h := kagedHome(t)
	h.write(".config/patchbay/secrets.toml", "WORD = \"of ink\"\n")
	h.staysDown()
	s := h.serve("", Limits{})
	s.awaitPluginEvents()
	pid := s.do("GET", "/v1/plugins/notes", "").plugin(t).Pid
	s.do("POST", "/v1/tools/notes.crash/call", `{"arguments":{}}`)
	eventually.True(t, "the plugin is reported as down", func() bool {
		all := s.eventsOf(stateEvent)
		return len(all) > 0 && all[0].Plugin == "notes" && all[0].Pid == nil && all[0].Error != nil && all[0].Health == "restarting" && !strings.Contains(*all[0].Error, "of ink")
	})
	h.write(".local/share/kaged/plugins/notes/up", "")
	eventually.True(t, "the plugin is reported as up again", func() bool {
		all := s.eventsOf(stateEvent)
		last := all[len(all)-1]
		return last.Pid != nil && *last.Pid != *pid && last.State == "ready"
	})
	eventually.True(t, "its last lines are reported", func() bool {
		all := s.eventsOf(logEvent)
		return len(all) > 0 && all[0].Level == "stderr" && all[0].Text == "out [secret]"
	})
	s.changeConfig(`{"changes":[{"set":"enabled","plugin":"notes","value":false}]}`)
	eventually.True(t, "the plugin is reported as disabled", func() bool {
		all := s.eventsOf(stateEvent)
		return all[len(all)-1].State == "disabled"
	})
}

// TestAPluginCannotFillTheJournal checks that events above the budget are counted and reported
// once.
func TestAPluginCannotFillTheJournal(t *testing.T) {
	s := kagedHome(t).serve("", Limits{})
	s.awaitPluginEvents()
	for i := range 1000 {
		s.pluginEvents.wrote("kaged", "notes", pluginlog.Line{Level: "stderr", Text: fmt.Sprint(i, strings.Repeat("x", 2000))})
		s.pluginEvents.denied(pluginhost.Denial{Plugin: "notes", Dialect: "kaged", What: "connection", Dropped: 1})
	}
	s.pluginEvents.wrote("kaged", "other", pluginlog.Line{Level: "stderr", Text: "me too"})
	for kind, want := range map[string]int{logEvent: burst + 1, deniedEvent: burst} {
		eventually.True(t, "the first of them are stored", func() bool { return len(s.eventsOf(kind)) == want })
	}
	key := budgetKey{logEvent, "kaged", "notes"}
	s.pluginEvents.mu.Lock()
	s.pluginEvents.budgets[key].at = time.Now().Add(-refillEvery) // as if this time had passed
	s.pluginEvents.mu.Unlock()
	s.pluginEvents.tellLeftOut(logEvent, pluginEvent{Plugin: "notes", Dialect: "kaged"})
	eventually.True(t, "an event says how many were left out", func() bool {
		all := s.eventsOf(logEvent)
		last := all[len(all)-1]
		return last.Plugin == "notes" && last.LeftOut == 1000-burst && last.Text == ""
	})
	for _, e := range s.eventsOf(logEvent) {
		if len(e.Text) > mostEventText+3 {
			t.Errorf("a line of %d bytes", len(e.Text))
		}
	}
	if all := s.eventsOf(deniedEvent); all[0].What != "connection" || all[0].LeftOut != 1 {
		t.Errorf("%+v", all[0])
	}
}
