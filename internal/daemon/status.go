package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/config"
)

// daemonStatus implements [httpapi.Daemon].
type daemonStatus struct{ *Core }

// Status returns facts about this daemon. It asks no plugin.
func (s daemonStatus) Status(ctx context.Context) (httpapi.DaemonStatus, error) {
	m := s.Model().Info()
	out := httpapi.DaemonStatus{PID: os.Getpid(), Version: s.version, Began: s.began, Hooks: s.forHooks, Model: m.Provider + ":" + m.Name}
	if at := s.at.Load(); at != nil {
		out.HTTP, out.Socket, out.Log = at.HTTP, at.Socket, at.Log
	}
	for _, p := range s.Host.Plugins() {
		out.Plugins.All++
		if p.State == "ready" {
			out.Plugins.Ready++
		}
	}
	if s.forHooks {
		return out, nil
	}
	list, err := s.Jobs.List(ctx)
	if err != nil {
		return out, err
	}
	out.Agents, out.Next = countJobs(list)
	return out, nil
}

// countJobs counts agents, and finds the next run.
func countJobs(list []JobInfo) (n httpapi.DaemonAgents, next *httpapi.DaemonNextRun) {
	seen := map[string]bool{}
	for _, i := range list {
		if !seen[i.Path] {
			seen[i.Path] = true
			n.All++
		}
		if i.Error != "" {
			n.Broken++
		}
		if i.Running != "" {
			n.Running++
		}
		if i.Next != nil && (next == nil || i.Next.Before(next.At)) {
			next = &httpapi.DaemonNextRun{Agent: i.Agent, Schedule: i.Schedule, At: *i.Next}
		}
	}
	return n, next
}

// Overview returns what [Status] returns, from inside the daemon.
func (c *Core) Overview(ctx context.Context) (httpapi.DaemonStatus, error) {
	return daemonStatus{c}.Status(ctx)
}

// statusTime is how long a daemon may take to tell its status.
const statusTime = 5 * time.Second

// Status asks the daemon that runs on these directories for its status. It returns [ErrNoDaemon] if
// there is none.
func Status(ctx context.Context, dirs config.Dirs) (httpapi.DaemonStatus, error) {
	socket, err := socketPath(dirs)
	if err != nil {
		return httpapi.DaemonStatus{}, err
	}
	return statusOn(ctx, socket)
}

// statusOn asks the daemon that listens on a socket.
func statusOn(ctx context.Context, socket string) (s httpapi.DaemonStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	resp, err := ask(ctx, socket, http.MethodGet, "/v1/daemon")
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s: is it another version?", resp.Status)
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, &UnaskedError{Socket: socket, Err: err}
	}
	return s, nil
}
