package conformance

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// A sight is a kind of fault that can occur in any call.
type sight string

const (
	sawNoise    sight = "noise"    // text on stdout that is not a message
	sawEnvelope sight = "envelope" // a message that is not valid JSON-RPC
	sawID       sight = "id"       // an answer to a request that was not made
	sawLeft     sight = "left"     // a process that outlives the plugin
	sawDenied   sight = "denied"   // something that its sandbox refused
	sawStorage  sight = "storage"  // a call for storage that it does not declare
	sawUnasked  sight = "unasked"  // a notification that its manifest does not declare
	sawRequest  sight = "request"  // a request that the host does not answer
	sawFlood    sight = "flood"    // more notifications than the protocol allows
	sawReply    sight = "answer"   // an answer to a notification
	sawExit     sight = "exit"     // an exit code that contradicts the answer
	sawUnsaid   sight = "unsaid"   // a refusal without a reason
	sawStatus   sight = "status"   // an answer that is neither ok nor an error
	sawContext  sight = "context"  // a context of a wrong form
	sawIgnored  sight = "ignored"  // a part of an answer that has no effect
	sawSlow     sight = "slow"     // an answer that took most of its time
)

// mostSights limits how many texts of a kind are stored.
const mostSights = 5

// sightings hold what was seen during a run. Several goroutines add to them.
type sightings struct {
	mu   sync.Mutex // protects the fields below
	all  map[sight][]string
	more map[sight]int
}

// note adds a text, unless the kind has it already.
func (s *sightings) note(kind sight, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all, s.more = make(map[sight][]string), make(map[sight]int)
	}
	switch {
	case slices.Contains(s.all[kind], text):
	case len(s.all[kind]) >= mostSights:
		s.more[kind]++
	default:
		s.all[kind] = append(s.all[kind], text)
	}
}

// of returns all texts of a kind as one; empty: there are none.
func (s *sightings) of(kind sight) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.all[kind], "; ")
	if more := s.more[kind]; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// first returns the first text of a kind.
func (s *sightings) first(kind sight) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all[kind]) == 0 {
		return ""
	}
	return s.all[kind][0]
}

// summary returns a check that fails if a kind was seen.
func summary(kind sight, clean string) func(*trial) {
	return func(t *trial) {
		if text := t.seen.of(kind); text != "" {
			t.failf("%s", text)
			return
		}
		t.passf("%s", clean)
	}
}

// shown returns foreign text for a message: quoted and shortened.
func shown[T ~string | ~[]byte](text T) string {
	return fmt.Sprintf("%q", excerpt.Of(strings.TrimSpace(string(text)), 160))
}
