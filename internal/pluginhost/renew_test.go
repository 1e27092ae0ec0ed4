package pluginhost

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// counting is a plugin that counts how often it gets a new config.
type counting struct {
	dialect.Plugin
	times int
}

func (c *counting) Reconfigure(context.Context, dialect.Settings) error { c.times++; return nil }

// TestChangesAreTakenTogether: changes within 300 ms cause one restart, which is reported to all; a
// later change causes another.
func TestChangesAreTakenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &setup{Options: Options{Dirs: []string{}}, config: config.Default(), secrets: &config.Secrets{}}
		s.configs.Store(&pluginConfigs{user: config.Default(), project: &config.Project{}})
		h := &Host{closed: make(chan struct{})}
		h.current.Store(s)
		plugin := &counting{}
		e := &entry{plugin: plugin}
		h.plugins.Store(&roster{entries: []*entry{e}})
		first := h.renewals.join(h, e)
		time.Sleep(renewDelay - time.Millisecond)
		if second := h.renewals.join(h, e); second != first {
			t.Error("a change within 300 ms does not join the first restart")
		}
		<-first.done
		if !first.restarted || first.err != nil || plugin.times != 1 {
			t.Errorf("restarted %v, %v, %d times", first.restarted, first.err, plugin.times)
		}
		third := h.renewals.join(h, e)
		if <-third.done; third == first || plugin.times != 2 {
			t.Errorf("a later change: %d restarts", plugin.times)
		}
		last := h.renewals.join(h, e)
		close(h.closed)
		if <-last.done; last.err == nil || plugin.times != 2 {
			t.Errorf("a host that is closed: %v, %d restarts", last.err, plugin.times)
		}
		h.renewals.close()
		late := h.renewals.join(h, e)
		if <-late.done; !errors.Is(late.err, ErrClosed) {
			t.Errorf("after the end: %v", late.err)
		}
	})
}
