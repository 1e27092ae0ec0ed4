package chat

import (
	"errors"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// TestRetryText: people read how long a retry waits, so it has no nanoseconds.
func TestRetryText(t *testing.T) {
	retry := model.Retry{Attempt: 3, After: 1_674_351_067 * time.Nanosecond, Err: errors.New("busy")}
	if got := retryText(&retry); got != "busy: attempt 3 in 1.67s" {
		t.Errorf("got %q", got)
	}
	if got := retryText(&model.Retry{Attempt: 2, After: 99_186_568 * time.Nanosecond}); got != "attempt 2 in 100ms" {
		t.Errorf("got %q", got)
	}
}
