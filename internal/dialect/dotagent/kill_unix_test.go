//go:build unix

package dotagent

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestTheWholeGroupDiesOnTheDeadline: at the deadline the whole process group is stopped:
// docs/protocols/dotagent.md, row D42. The grandchild holds a pipe open, and the test waits for the
// end of that pipe.
func TestTheWholeGroupDiesOnTheDeadline(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	for _, c := range []struct {
		rule, trap string
		grace      time.Duration
		says       string // what the grandchild prints before it is killed
	}{
		{"on SIGTERM, with time to end", `trap 'echo stopped >&3; exit' TERM;`, time.Minute, "up stopped"},
		{"on SIGKILL, if it ignores SIGTERM", `trap '' TERM;`, 10 * time.Millisecond, "up"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := newRig(t)
			r.dialect.grace = c.grace
			script(t, r.home, "forks", `#!/bin/sh
case $1 in
info) echo '{"name":"forks","kinds":["sink"]}' ;;
validate) echo '{"ok":true}' ;;
invoke) (exec 3>"$HOME/alive"; `+c.trap+` echo up >&3; while :; do sleep 0.05; done) & wait ;;
esac
`)
			alive := filepath.Join(r.home, "alive")
			plugtest.NamedPipe(t, alive)
			ctx := plugtest.NewRipening(t.Context(), sinkTimeout)
			failed := make(chan error, 1)
			h := r.open().Hooks()[0]
			go func() {
				_, err := h.Call(ctx, &hook.Event{Point: hook.JobSink})
				failed <- err
			}()
			words := plugtest.Listen(t, alive, ctx.Ripen)
			if words != c.says {
				t.Errorf("the grandchild said %q, want %q", words, c.says)
			}
			err := <-failed
			if !errors.Is(err, hook.Timeout) || err.Error() != "plugin forks.invoke exceeded 300s — killed" {
				t.Errorf("error %v", err)
			}
		})
	}
}
