package tui

import (
	"fmt"
	"sync"
	"time"
)

// calls counts the calls to the [Conversation] that are under way, so that none outlives the
// program: a turn that was interrupted still has to be kept.
type calls struct {
	mu     sync.Mutex // protects closed, and the step from it to running
	closed bool
	done   sync.WaitGroup
}

// begin tells whether a call may be made; if so, end has to follow.
func (c *calls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.done.Add(1)
	return true
}

func (c *calls) end() { c.done.Done() }

// leaveGrace is how long calls whose context has ended may take to return: tools get five seconds
// between SIGTERM and SIGKILL (package proc), and what there is of a reply still has to be kept.
const leaveGrace = 10 * time.Second

// close lets no call begin any more and waits for those that have.
func (c *calls) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	all := make(chan struct{})
	go func() {
		c.done.Wait()
		close(all)
	}()
	select {
	case <-all:
		return nil
	case <-time.After(leaveGrace):
		return fmt.Errorf("the conversation was still busy %v after it was interrupted", leaveGrace)
	}
}
