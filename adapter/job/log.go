package job

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// logNotice logs a notice as a sentence. A run that gave up is an error; a failure before that is a
// warning. The notices of a run that is shown on a terminal are logged at level info, since the
// terminal shows them already.
func (r *Runner) logNotice(run *Run, n *Notice) {
	level := slog.LevelInfo
	if r.Watch == nil || !run.Manual {
		level = n.level()
	}
	var about []any
	if run.ID != "" {
		about = []any{"run", run.ID}
	}
	if n.Suggest != "" {
		about = append(about, "fix", n.Suggest)
	}
	r.Logger.Log(context.Background(), level, n.sentence(run), about...)
}

func (n *Notice) level() slog.Level {
	switch n.Event {
	case RunGivenUp:
		return slog.LevelError
	case AttemptFailed, AttemptTimeout, GoneStale:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// sentence describes what happened to a run.
func (n *Notice) sentence(run *Run) string {
	agent := fmt.Sprintf("agent %s (schedule %s)", run.Agent, run.Schedule)
	attempt := fmt.Sprintf("%s: attempt %d of %d", agent, n.Attempt, n.Most)
	switch n.Event {
	case Success:
		return attempt + " succeeded"
	case AttemptFailed:
		if n.Sink {
			return agent + " succeeded, but a sink failed: " + n.Error
		}
		return attempt + " failed: " + n.Error + n.nextAttempt()
	case AttemptTimeout:
		return attempt + " timed out: " + n.Error + n.nextAttempt()
	case RunGivenUp:
		return fmt.Sprintf("%s gave up after %d of %d attempts: %s", agent, n.Attempt, n.Most, n.Error)
	case RunRecovered:
		return agent + " has recovered"
	case GoneStale:
		if n.Error == "" {
			return agent + " has not succeeded for too long"
		}
		return agent + " has not succeeded for too long: " + n.Error
	}
	return agent + ": " + string(n.Event)
}

// nextAttempt says when the next attempt is, if there is one.
func (n *Notice) nextAttempt() string {
	if n.NextAt.IsZero() {
		return ""
	}
	return "; the next attempt is at " + n.NextAt.Local().Format(time.TimeOnly)
}
