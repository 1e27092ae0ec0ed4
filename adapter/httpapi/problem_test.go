package httpapi

import (
	"fmt"
	"net/http"
	"testing"
)

// silent is the error of an engine that does not answer.
type silent struct{ error }

func (silent) EngineSilent() {}

// TestSilentEngine: an engine that does not answer is no internal error: a client may ask again.
func TestSilentEngine(t *testing.T) {
	err := fmt.Errorf("feature plugins: %w", silent{fmt.Errorf("the engine does not answer")})
	if p, shown := asProblem(err); p.status != http.StatusServiceUnavailable || !shown || p.Detail != "feature plugins: the engine does not answer" {
		t.Errorf("%d %q, shown %t", p.status, p.Detail, shown)
	}
}
