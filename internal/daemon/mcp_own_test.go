package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestOwnServers: the files of running MCP servers are found whatever other processes do at the
// same time, and those of dead ones are not.
func TestOwnServers(t *testing.T) {
	runs := func(c *Core) bool { _, running := c.ownServer(); return running }
	announce := func(t *testing.T, c *Core, o MCPOptions) (end func()) {
		t.Helper()
		end, err := c.AnnounceMCP(o)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	t.Run("processes that look at a dead one together", func(t *testing.T) {
		h := newTestHome(t)
		c := h.open("")
		for round := range 200 {
			for i := range 4 {
				h.write(filepath.Join(".local/state/patchbay", ownServers, fmt.Sprint(round, ".", i)), "")
			}
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					if runs(c) {
						t.Error("one of them takes another for a server")
					}
				})
			}
			all.Wait()
			if t.Failed() {
				return
			}
		}
		if left, err := os.ReadDir(filepath.Join(c.Dirs.State, ownServers)); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
	})
	t.Run("a process that looks while a server begins", func(t *testing.T) {
		c := newTestHome(t).open("")
		over := make(chan struct{})
		var looking sync.WaitGroup
		for range 2 {
			looking.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
						c.ownServer()
					}
				}
			})
		}
		for range 500 {
			end := announce(t, c, MCPOptions{})
			if !runs(c) {
				t.Error("a running server is not found")
			}
			end()
			if t.Failed() {
				break
			}
		}
		close(over)
		looking.Wait()
	})
	t.Run("two servers with one pid, as in two containers", func(t *testing.T) {
		c := newTestHome(t).open("")
		first, second := announce(t, c, MCPOptions{Builtin: true}), announce(t, c, MCPOptions{Builtin: true})
		first()
		if o, running := c.ownServer(); !running || !o.Builtin {
			t.Errorf("one of two has ended: %+v, %v", o, running)
		}
		second()
		if runs(c) {
			t.Error("both have ended")
		}
	})
}
