package engine

import (
	"testing"
)

// TestAFaultWhileTheConnectionIsMade checks that a server is replaced also if its fault is found
// before the connection can be told to dial again. Until then nothing can be read.
func TestAFaultWhileTheConnectionIsMade(t *testing.T) {
	t.Run("the first connection", func(t *testing.T) {
		var f faults
		f.replaceServer()
		told := 0
		f.reconnectWith(func() { told++ })
		if told != 1 {
			t.Errorf("the connection was told %d times to dial again", told)
		}
	})
	t.Run("a later connection", func(t *testing.T) {
		e := open(t, Options{Dir: t.TempDir()})
		s := openStream(t, e, "s")
		appendTo(t, s, "t", "before")
		opts, err := e.connection(Options{})
		if err != nil {
			t.Fatal(err)
		}
		e.node.faults.mu.Lock()
		e.node.faults.pending = true // a connection that is being established does not notice it
		e.node.faults.mu.Unlock()
		opts.ReconnectedCB(e.nc)
		if records, err := s.Read(t.Context(), "t", 0, 0); err != nil || len(records) != 1 {
			t.Errorf("%s, %v", show(records), err)
		}
	})
}
