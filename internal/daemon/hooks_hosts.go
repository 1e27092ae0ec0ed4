package daemon

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/session"
)

const (
	mostHosts  = 1024            // sessions of other agents whose turn is remembered
	doubleTime = 2 * time.Minute // longer than any agent waits for a hook
)

// hostState remembers facts about other agents between two events. It ends with the daemon, as the
// state of plugins does.
type hostState struct {
	mu      sync.Mutex // protects the fields below
	turns   map[string]*hostTurn
	doubles map[string][]sighting
	records map[string]bool // sessions that are stored; true: with a title
	files   string          // the state of the configuration files at the last event that could have them read
}

// A hostTurn is a turn of another agent: from the user's message to the end of the answer.
type hostTurn struct {
	id   string
	text string // the user's message
	used time.Time
}

// turn returns the id of the event's turn: the agent's own id, or else the turn that began with the
// user's last message. It also sets the event's UserText to the user's message in that turn.
func (s *hostState) turn(sessionID string, m *codehook.Moment) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sessionID
	if m.Request != "" { // a subagent's turn does not end the turn that it is part of
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

// newTurn adds a turn. The caller holds the lock.
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

// A sighting is an event of a tool call, as one agent's hook sent it.
type sighting struct {
	agent codehook.Agent
	at    time.Time
}

// isDouble reports whether an event is the second copy of an event that was already answered.
// Cursor and Copilot CLI also run the hooks of Claude Code's settings, so one tool call can reach
// both hooks. Two events are the same if session and call id are equal and the hooks belong to
// different agents. Their content is not compared, because an agent may call the same command
// twice. Some models reuse call ids in each turn, so each event matches at most one other, and none
// that is older than doubleTime.
func (s *hostState) isDouble(m *codehook.Moment) bool {
	if m.CallID == "" || m.Session == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.forgetSightings(now)
	key := fmt.Sprintf("%q %q %v", m.Session, m.CallID, m.Points())
	recent := slices.DeleteFunc(s.doubles[key], func(other sighting) bool { return now.Sub(other.at) > doubleTime })
	if i := slices.IndexFunc(recent, func(other sighting) bool { return other.agent != m.Agent }); i >= 0 {
		s.doubles[key] = slices.Delete(recent, i, i+1)
		return true
	}
	if s.doubles == nil {
		s.doubles = make(map[string][]sighting)
	}
	s.doubles[key] = append(recent, sighting{m.Agent, now})
	return false
}

// forgetSightings deletes sightings whose agent no longer waits. The caller holds the lock.
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

// isStored reports whether a session is known to be stored, and stored with a title if titled is
// set.
func (s *hostState) isStored(sessionID string, titled bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	has, ok := s.records[sessionID]
	return ok && (has || !titled)
}

// markStored remembers that a session is stored, and reports whether this process did not know it
// before.
func (s *hostState) markStored(sessionID string, titled bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.records[sessionID]
	if s.records == nil || len(s.records) >= mostHosts {
		s.records = make(map[string]bool) // the sessions are looked up again
	}
	s.records[sessionID] = titled
	return !known
}

// filesChanged reports whether the state of the configuration files is neither the one in force nor
// the one that filesChanged was last called with.
func (s *hostState) filesChanged(inForce, now string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := now != inForce && now != s.files
	s.files = now
	return changed
}
