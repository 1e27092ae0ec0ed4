package tui

import (
	"fmt"
	"sync"
	"time"
)

// calls counts the running calls to the [Conversation], so that none outlives the program: an
// interrupted turn still has to be stored.
type calls struct {
	mu     sync.Mutex // protects closed; begin holds it until the call is counted
	closed bool
	done   sync.WaitGroup
}

// begin reports whether a call may start; if so, end must follow.
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

// leaveGrace is how long calls may take to return after their context has ended. Tools have five
// seconds between SIGTERM and SIGKILL (package proc), and the reply so far must be stored.
const leaveGrace = 10 * time.Second

// close lets no more calls begin, and waits for the running ones.
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
