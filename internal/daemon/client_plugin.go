package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// A RunningPlugin is the state of a plugin in the daemon, whose processes and counters are not
// those of the process that asks.
type RunningPlugin struct {
	State         dialect.State          `json:"state"`
	Pid           *int                   `json:"pid"`
	Health        string                 `json:"health"`
	Counters      pluginhost.Counters    `json:"counters"`
	Notifications []dialect.Notification `json:"notifications"` // the last ones, oldest first
}

const (
	pluginTime = statusTime + 5*time.Second // the daemon may first ask the plugin for its health
	maxPlugin  = 16 << 20                   // the size limit of the answer; the manifest, config and notifications in it have limits of their own
)

// AskPlugin asks the daemon that runs on these directories for the state of a plugin. It returns
// [ErrNoDaemon] if there is none, and nil if the daemon does not have the plugin.
func AskPlugin(ctx context.Context, dirs config.Dirs, plugin string) (*RunningPlugin, error) {
	socket, err := socketPath(dirs)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pluginTime)
	defer cancel()
	resp, err := ask(ctx, socket, http.MethodGet, "/v1/plugins/"+url.PathEscape(plugin))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return readPlugin(resp)
}

func readPlugin(resp *http.Response) (*RunningPlugin, error) {
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, nil // it may search other directories
	default:
		return nil, fmt.Errorf("the daemon answers %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPlugin))
	if err != nil {
		return nil, fmt.Errorf("the daemon's answer: %w", err)
	}
	p := &RunningPlugin{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("the daemon's answer: %w", err)
	}
	return p, nil
}
