package chat

import (
	"context"
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A MemoryLog is a transcript in memory, for programs that embed the agent and store no sessions.
// It is safe for concurrent use.
type MemoryLog struct {
	mu          sync.Mutex // protects the fields below
	messages    []model.Message
	compactions []session.Compaction
	earlier     int // replies that compactions removed
}

// NewMemoryLog returns a transcript that begins with messages.
func NewMemoryLog(messages ...model.Message) *MemoryLog {
	return &MemoryLog{messages: slices.Clone(messages)}
}

// Messages returns the messages after all compactions. The caller must not change them.
func (l *MemoryLog) Messages() []model.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.messages[:len(l.messages):len(l.messages)]
}

// Append adds messages.
func (l *MemoryLog) Append(_ context.Context, messages ...model.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = append(l.messages, messages...)
	return nil
}

// Compact replaces the messages with those of the compaction.
func (l *MemoryLog) Compact(_ context.Context, c session.Compaction) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.earlier += replies(l.messages) - replies(c.Messages)
	l.messages = slices.Clone(c.Messages)
	l.compactions = append(l.compactions, c)
	return nil
}

// Earlier returns the number of model replies that compactions removed: see [Log].
func (l *MemoryLog) Earlier() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.earlier
}

func replies(messages []model.Message) int {
	n := 0
	for _, m := range messages {
		if m.Role == model.Assistant {
			n++
		}
	}
	return n
}

// Compactions returns the compactions, oldest first.
func (l *MemoryLog) Compactions() []session.Compaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.compactions)
}
