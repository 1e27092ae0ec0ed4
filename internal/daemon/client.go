package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
)

// ErrNoDaemon reports that no daemon runs on these directories.
var ErrNoDaemon = errors.New("no daemon is running")

// reloadTime limits the restart of a plugin in a daemon. The plugin may first have to finish a
// call.
const reloadTime = 3 * time.Minute

// ReloadPlugin asks the daemon that runs on these directories, if there is one, to read a plugin's
// config again. It reports whether the daemon restarted the plugin.
func ReloadPlugin(ctx context.Context, dirs config.Dirs, plugin string) (restarted bool, err error) {
	return askReload(ctx, dirs, "/v1/plugins/"+url.PathEscape(plugin)+"/reload")
}

// Reload asks the daemon that runs on these directories to reload everything. It returns
// [ErrNoDaemon] if there is none.
func Reload(ctx context.Context, dirs config.Dirs) error {
	_, err := askReload(ctx, dirs, "/v1/reload")
	return err
}

func askReload(ctx context.Context, dirs config.Dirs, route string) (restarted bool, err error) {
	socket, err := socketPath(dirs)
	if err != nil {
		return false, err
	}
	if _, err := statusOn(ctx, socket); err != nil { // a daemon that hangs is noticed long before reloadTime has passed
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	resp, err := ask(ctx, socket, http.MethodPost, route)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	return readReload(resp)
}

// ask sends a request to the daemon that listens on a socket. It returns [ErrNoDaemon] if there is
// none. The caller closes the body of the answer.
func ask(ctx context.Context, socket, method, route string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://patchbay"+route, nil)
	if err != nil {
		return nil, err
	}
	var pid atomic.Int64
	client := socketClient(socket, &pid)
	resp, err := client.Do(r)
	switch {
	case err == nil:
		return resp, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ECONNREFUSED):
		return nil, ErrNoDaemon
	case pid.Load() == 0 && !errors.Is(err, context.DeadlineExceeded): // there was no connection
		return nil, fmt.Errorf("ask the daemon on %s: %w", socket, withoutURL(err))
	}
	return nil, &UnaskedError{Socket: socket, PID: int(pid.Load()), Err: err}
}

func readReload(resp *http.Response) (bool, error) {
	var answer struct {
		Restarted bool   `json:"restarted"`
		Detail    string `json:"detail"`
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	switch {
	case isJSONError(err):
		return false, fmt.Errorf("it answers %s, and this version of Patchbay cannot read the rest", resp.Status)
	case err != nil:
		return false, fmt.Errorf("the daemon's answer: %w", err)
	case resp.StatusCode == http.StatusNotFound:
		return false, nil // the daemon does not have this plugin: it may search other directories
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("the daemon says: %s", answer.Detail)
	}
	return answer.Restarted, nil
}
