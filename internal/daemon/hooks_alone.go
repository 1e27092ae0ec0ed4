package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Serves reports whether a daemon on these directories answers hooks, and a client of this version
// can use it.
func Serves(ctx context.Context, dirs config.Dirs) (bool, error) {
	socket, err := socketPath(dirs)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, yieldTime)
	defer cancel()
	resp, err := ask(ctx, socket, http.MethodGet, "/v1/health")
	if errors.Is(err, ErrNoDaemon) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	var h struct {
		Version string `json:"version"`
		Hooks   bool   `json:"hooks"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&h); err != nil {
		return false, err
	}
	return !h.Hooks || h.Version == pluginhost.Version, nil
}
