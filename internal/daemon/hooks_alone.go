package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"syscall"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Serves reports whether a daemon on these directories answers hooks, and a client of this version
// can use it.
func Serves(ctx context.Context, dirs config.Dirs) (bool, error) {
	socket, err := SocketPath(dirs)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, yieldTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://patchbay/v1/health", nil)
	if err != nil {
		return false, err
	}
	resp, err := socketClient(socket).Do(r)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
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
