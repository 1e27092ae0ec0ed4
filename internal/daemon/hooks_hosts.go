package daemon

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/session"
)

const (
	mostHosts  = 1024            // sessions of other agents whose turn is remembered
	doubleTime = 2 * time.Minute // longer than any agent waits for a hook
)

// hostState is what is remembered of other agents between two events. It is gone with the daemon,
// as the state of plugins is.
type hostState struct {
	mu      sync.Mutex // protects the fields below
	turns   map[string]*hostTurn
	doubles map[string][]sighting
	records map[string]bool // sessions that are kept; true: with a title
	files   string          // how the configuration's files looked when they were last read; "": nobody has looked
}

// A hostTurn is a turn of another agent: what the user said, and all that comes of it.
type hostTurn struct {
	id   string
	text string // of the user's
	used time.Time
}

// turn is the id of the turn that an event belongs to: the agent's own, or else the one that lasts
// from the user's message to the end of the answer. The event is told what the user said in it.
func (s *hostState) turn(sessionID string, m *codehook.Moment) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sessionID
	if m.Request != "" { // a subagent's turn does not end the one that it is part of
		key += "/" + m.Request
	}
	t := s.turns[key]
	if t == nil || m.Begins && m.Request == "" {
		t = s.newTurn(key, sessionID, m)
	}
	t.used = time.Now()
	if m.UserText != "" && (t.text == "" || m.Begins) {
		t.text = m.UserText
	}
	m.UserText = t.text
	if m.Ends && m.Request == "" || m.Last {
		delete(s.turns, key)
	}
	return t.id
}

// newTurn remembers a turn. The caller holds the lock.
func (s *hostState) newTurn(key, sessionID string, m *codehook.Moment) *hostTurn {
	if s.turns == nil {
		s.turns = make(map[string]*hostTurn)
	}
	if len(s.turns) >= mostHosts {
		s.forgetOldest()
	}
	t := &hostTurn{id: session.NewTurnID()}
	if m.Request != "" {
		t.id = session.HostTurnID(sessionID, m.Request)
	}
	s.turns[key] = t
	return t
}

func (s *hostState) forgetOldest() {
	oldest := ""
	for key, t := range s.turns {
		if oldest == "" || t.used.Before(s.turns[oldest].used) {
			oldest = key
		}
	}
	delete(s.turns, oldest)
}

// A sighting is an event of a tool call that came from one agent's hook.
type sighting struct {
	agent codehook.Agent
	at    time.Time
}

// isDouble tells the second of two events that are one. Cursor and Copilot CLI also run the hooks of
// Claude Code's settings: a call that is told to both hooks is asked about once. It is the same
// call by its session and its id, and comes from hooks of two agents. What is in it proves nothing:
// the same command twice is two calls. Each event is the double of one other at most, since some
// models number their calls anew in each turn.
func (s *hostState) isDouble(m *codehook.Moment) bool {
	if m.CallID == "" || m.Session == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.forgetSightings(now)
	key := fmt.Sprintf("%q %q %v", m.Session, m.CallID, m.Points())
	for i, other := range s.doubles[key] {
		if other.agent != m.Agent {
			s.doubles[key] = append(s.doubles[key][:i:i], s.doubles[key][i+1:]...)
			return true
		}
	}
	if s.doubles == nil {
		s.doubles = make(map[string][]sighting)
	}
	s.doubles[key] = append(s.doubles[key], sighting{m.Agent, now})
	return false
}

// forgetSightings forgets those whose agent has long gone on. The caller holds the lock.
func (s *hostState) forgetSightings(now time.Time) {
	if len(s.doubles) < mostHosts {
		return
	}
	for key, list := range s.doubles {
		if len(list) == 0 || now.Sub(list[len(list)-1].at) > doubleTime {
			delete(s.doubles, key)
		}
	}
}

// isStored tells whether a session is known to be kept, and with a title where there is one to be had
// now.
func (s *hostState) isStored(sessionID string, titled bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	has, ok := s.records[sessionID]
	return ok && (has || !titled)
}

// markStored remembers that a session is kept, and tells whether that is new to this process.
func (s *hostState) markStored(sessionID string, titled bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.records[sessionID]
	if s.records == nil || len(s.records) >= mostHosts {
		s.records = make(map[string]bool) // they are asked for again
	}
	s.records[sessionID] = titled
	return !known
}

// filesChanged tells whether files have changed since it was last asked. The first time nothing
// has.
func (s *hostState) filesChanged(paths ...string) bool {
	now := "files"
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			now += fmt.Sprintf(" %d %d %v", info.Size(), info.ModTime().UnixNano(), info.Mode())
		} else {
			now += " none"
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.files != "" && s.files != now
	s.files = now
	return changed
}
