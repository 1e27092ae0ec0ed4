package job_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
)

// slowHost is a host whose plugins take a while.
type slowHost struct {
	takes    time.Duration
	finished int
}

func (h *slowHost) Fire(ctx context.Context, point hook.Point, _ any) (*hook.Outcome, error) {
	select {
	case <-time.After(h.takes):
		h.finished++
		return &hook.Outcome{Point: point}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestSlowNotifiersHaveTheirTime: a plugin has the time that its entry in the manifest gives it,
// also when the process ends, but at most five minutes then.
func TestSlowNotifiersHaveTheirTime(t *testing.T) {
	for _, c := range []struct {
		rule           string
		timeout, takes time.Duration
		finished       int
	}{
		{"longer than the usual wait", 90 * time.Second, 80 * time.Second, 1},
		{"without a time of its own", 0, 80 * time.Second, 0},
		{"longer than anybody waits at the end", time.Hour, 10 * time.Minute, 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := &slowHost{takes: c.takes}
				reporter := job.NewReporter(job.ReporterOptions{Host: host})
				m := &job.Manifest{OnFailure: []job.Hook{{Plugin: "slow", Timeout: c.timeout}}}
				reporter.Report(job.Report{Notice: job.Notice{Event: job.AttemptFailed}, Manifest: m, Run: &job.Run{}})
				began := time.Now()
				err := reporter.Close()
				if host.finished < c.finished || (err == nil) != (c.finished > 0) || time.Since(began) > 5*time.Minute {
					t.Errorf("%d calls finished after %s: %v", host.finished, time.Since(began), err)
				}
			})
		})
	}
}
