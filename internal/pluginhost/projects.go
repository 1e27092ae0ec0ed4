package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/patchbay-dev/patchbay/internal/project"
)

// ProjectRoot returns the project that a directory belongs to: the nearest directory upwards that
// is under version control, or dir itself. Symbolic links are followed.
func ProjectRoot(dir string) string { return project.Root(dir) }

// Project returns the project in which the host's plugins work.
func (h *Host) Project() string { return h.setup().projectRoot }

// In opens the host's plugins once more, to work in another directory. They run there, and receive
// that directory's project. Both hosts share storage, secrets, permissions and counters. The caller
// must close the second host before the first, or with it: see [Host.CloseWith].
func (h *Host) In(ctx context.Context, dir string) (*Host, error) {
	if h.isClosed() {
		return nil, ErrClosed
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("working directory %s: not a directory", dir), err)
	}
	s, err := h.setup().in(dir)
	if err != nil {
		return nil, err
	}
	other, err := newHost(s)
	if err != nil {
		return nil, err
	}
	other.procs, other.tallies, other.system = h.procs, h.tallies, h.system
	other.warned.texts = h.warned.copy()
	if err := other.refresh(ctx, s.names()); err != nil {
		return nil, errors.Join(err, other.Close())
	}
	return other, nil
}

// in returns the setup of the same plugins in another directory, with the config of that
// directory's project.
func (s *setup) in(dir string) (*setup, error) {
	other := &setup{Options: s.Options, env: s.env, dirs: s.dirs, config: s.config, secrets: s.secrets, trust: s.trust, dialects: dialects(s.Remote), guest: true}
	other.Dir = dir
	if err := other.place(); err != nil {
		return nil, err
	}
	g, err := other.loadConfigs(s.configs.Load().user)
	if err != nil {
		return nil, err
	}
	other.configs.Store(g)
	return other, nil
}
