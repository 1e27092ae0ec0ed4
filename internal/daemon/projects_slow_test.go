package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// slowServer installs an MCP server, and returns the configuration of it. In a directory called
// slow it reports its start and never answers, until there is a file called go. In others, it ends.
func (h testHome) slowServer() (config string) {
	h.t.Helper()
	plugtest.NeedTool(h.t, "sh")
	path := h.write("server", "#!/bin/sh\ncase $PWD in */slow) : >begun; until [ -e go ]; do sleep 0.01; done; esac\n")
	if err := os.Chmod(path, 0o755); err != nil {
		h.t.Fatal(err)
	}
	return "[[mcp]]\nname = \"server\"\ncommand = [\"" + path + "\"]\n"
}

// begun waits until the slow server was started in dir.
func begun(t *testing.T, dir string) {
	t.Helper()
	eventually.True(t, "the server is being started", func() bool { _, err := os.Stat(filepath.Join(dir, "begun")); return err == nil })
}

// knows reports whether the slow server is one of a host's plugins.
func knows(host *pluginhost.Host) bool {
	_, err := host.Plugin("server")
	return err == nil
}

// openAll opens the plugins of projects, and keeps them open during the test.
func (h testHome) openAll(c *Core, dirs ...string) (hosts []*pluginhost.Host) {
	h.t.Helper()
	for _, dir := range dirs {
		host, done, err := c.projects.in(h.t.Context(), dir)
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(done)
		hosts = append(hosts, host)
	}
	return hosts
}

// TestAnEventDoesNotWaitForOtherProjects: if the configuration has changed, an event of another
// agent waits only until the plugins of its own project have the new one.
func TestAnEventDoesNotWaitForOtherProjects(t *testing.T) {
	start := func(t *testing.T) (h testHome, c *Core, ask func(dir string)) {
		h = newTestHome(t)
		c = h.open("")
		c.forHooks = true
		return h, c, func(dir string) {
			t.Helper()
			h.answer(c, hookRequest("UserPromptSubmit", map[string]any{"session_id": "s", "cwd": dir, "prompt": "hello"}))
		}
	}
	t.Run("whose new plugins start slowly", func(t *testing.T) {
		h, c, ask := start(t)
		fast, slow := repository(t, "fast"), repository(t, "slow")
		hosts := h.openAll(c, fast, slow)
		h.write(".config/patchbay/config.toml", h.slowServer())
		ask(fast)
		if !knows(hosts[0]) || !knows(c.Host) {
			t.Error("the event's project and the daemon's do not have the new configuration")
		}
		if knows(hosts[1]) {
			t.Error("the event waited until the server of the other project did not answer")
		}
		begun(t, slow)
		if err := os.WriteFile(filepath.Join(slow, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, "the other project gets the new configuration", func() bool { return knows(hosts[1]) })
	})
	t.Run("whose plugins are being opened", func(t *testing.T) {
		h, c, ask := start(t)
		fast, slow := repository(t, "fast"), repository(t, "slow")
		hosts := h.openAll(c, fast)
		opening := &project{root: slow, ready: make(chan struct{}), users: 1} // not opened before the event was answered
		c.projects.sets[slow] = opening
		h.write(".config/patchbay/config.toml", "[plugins.server]\nenabled = false\n"+h.slowServer())
		ask(fast)
		if !knows(hosts[0]) {
			t.Error("the event's project does not have the new configuration")
		}
		c.projects.open(t.Context(), opening)
		defer c.projects.leave(opening)
		if opening.err != nil || opening.host.Plugins()[0].State != dialect.Disabled {
			t.Errorf("the project that was being opened does not have the new configuration: %v", opening.err)
		}
	})
}

// TestAProjectOpensDuringARefresh: its plugins do not wait until those of the daemon have started.
func TestAProjectOpensDuringARefresh(t *testing.T) {
	h := newTestHome(t)
	h.home = filepath.Join(h.home, "slow")
	h.write(".config/patchbay/config.toml", "")
	c := h.open("")
	h.write(".config/patchbay/config.toml", h.slowServer())
	reloaded := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { reloaded <- c.Reload(ctx) }()
	begun(t, h.home)
	h.openAll(c, repository(t, "fast"))
	select {
	case err := <-reloaded:
		t.Errorf("the project was opened after the daemon's plugins: %v", err)
	default:
		cancel()
		<-reloaded
	}
}

// TestTheDaemonEndsWhilePluginsStart: it does not wait until they have started.
func TestTheDaemonEndsWhilePluginsStart(t *testing.T) {
	t.Run("of another project", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".config/patchbay/config.toml", h.slowServer())
		o, log := h.options(), new(plugtest.Log)
		o.Host.Logger = slog.New(slog.NewTextHandler(log, nil))
		c, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		slow, opened := repository(t, "slow"), make(chan error, 1)
		go func() {
			_, _, err := c.projects.in(context.Background(), slow)
			opened <- err
		}()
		begun(t, slow)
		h.close(c)
		if err := <-opened; !errors.Is(err, errProjectsClosed) {
			t.Errorf("the caller that waits for the plugins got %v", err)
		}
		if strings.Contains(log.String(), "canceled") {
			t.Errorf("warnings about plugins that were given up: %s", log)
		}
	})
	t.Run("in a reload", func(t *testing.T) {
		h := newTestHome(t)
		h.home = filepath.Join(h.home, "slow")
		h.write(".config/patchbay/config.toml", "")
		c := h.open("")
		h.write(".config/patchbay/config.toml", h.slowServer())
		reloaded := make(chan error, 1)
		go func() { reloaded <- c.Reload(context.Background()) }()
		begun(t, h.home)
		h.close(c)
		if err := <-reloaded; !errors.Is(err, pluginhost.ErrClosed) {
			t.Errorf("the reload: %v", err)
		}
	})
}

// TestPluginsOfAllProjectsEndAtOnce: a daemon that ends closes its own plugins and those of other
// projects at the same time.
func TestPluginsOfAllProjectsEndAtOnce(t *testing.T) {
	h := newTestHome(t)
	other := repository(t, "other")
	meet := "'\"shutdown\"'*) touch ending; until [ -e " + h.home + "/ending ] && [ -e " + other + "/ending ]; do sleep 0.01; done;"
	h.script("where", strings.Replace(where, "'\"shutdown\"'*)", meet, 1))
	o, log := h.options(), new(plugtest.Log)
	o.Host.Logger = slog.New(slog.NewTextHandler(log, nil))
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, done, err := c.projects.in(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	done()
	h.close(c)
	if strings.Contains(log.String(), "did not answer shutdown") {
		t.Errorf("one of them waited for the other: %s", log)
	}
}

// TestAChangeWhileTheDaemonEnds: a change of the configuration stays, although the daemon does not
// wait until a new plugin has started.
func TestAChangeWhileTheDaemonEnds(t *testing.T) {
	h := newTestHome(t)
	h.home = filepath.Join(h.home, "slow")
	file := h.write(".config/patchbay/config.toml", h.slowServer()+"[plugins.server]\nenabled = false\n")
	c := h.open("")
	changed := make(chan error, 1)
	go func() {
		r, err := configuration{c}.Change(context.Background(), httpapi.ConfigRequest{Changes: []httpapi.ConfigChange{{Set: "enabled", Plugin: "server", Value: []byte("true")}}})
		if err == nil && !r.Applied {
			err = errors.New("not applied")
		}
		changed <- err
	}()
	begun(t, h.home)
	h.close(c)
	if err := <-changed; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "enabled = true") {
		t.Errorf("the file: %s, %v", text, err)
	}
}

// TestAReloadOutlivesItsEvent: an agent that stops waiting does not keep the plugins from getting
// the new configuration.
func TestAReloadOutlivesItsEvent(t *testing.T) {
	h := newTestHome(t)
	c := h.open("")
	c.forHooks = true
	slow := repository(t, "slow")
	host := h.openAll(c, slow)[0]
	h.write(".config/patchbay/config.toml", h.slowServer())
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = c.AnswerHook(ctx, "claude", hookRequest("UserPromptSubmit", map[string]any{"session_id": "s", "cwd": slow, "prompt": "hello"}))
	}()
	begun(t, slow)
	cancel()
	<-answered
	if err := os.WriteFile(filepath.Join(slow, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the project gets the new configuration", func() bool { return knows(host) })
}
