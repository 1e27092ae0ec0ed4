package job

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/scratch"
)

// tmpPrefix begins the names of agents' temporary directories.
const tmpPrefix = "patchbay-"

// A hold records which process makes the active run of a schedule. It is part of the page.
type hold struct {
	Token  string       `json:"token"` // unique for each attempt: processes on different machines may have the same name
	Holder lease.Holder `json:"holder"`
	Tmp    string       `json:"tmp"` // the attempt's temporary directory, which may not exist
}

// newHold returns the hold of an attempt that this process is about to make. It chooses the name of
// the temporary directory before the directory exists, so that another process can remove it if
// this one dies.
func (r *Runner) newHold(m *Manifest) hold {
	token := strings.ToLower(rand.Text())
	return hold{Token: token, Holder: r.Holder, Tmp: filepath.Join(os.TempDir(), tmpPrefix+m.Slug()+"-"+token)}
}

// holder returns the process that makes the active run, or the zero Holder if the page does not
// name one.
func (h *hold) holder() lease.Holder {
	if h == nil {
		return lease.Holder{}
	}
	return h.Holder
}

func (h *hold) token() string {
	if h == nil {
		return ""
	}
	return h.Token
}

// removeTmp removes the temporary directory of a process that has died. It removes nothing unless
// the name of the directory contains the token. The token cannot be guessed, so a damaged page
// cannot name another directory.
func (h *hold) removeTmp() error {
	if h == nil {
		return nil
	}
	name := filepath.Base(h.Tmp)
	if len(h.Token) != len(rand.Text()) || !strings.HasPrefix(name, tmpPrefix) || !strings.HasSuffix(name, "-"+h.Token) {
		return nil
	}
	if err := scratch.Remove(h.Tmp); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // the process had not made it yet
}

// judgeRun decides whether the process that makes the run of a page is still alive.
func (p *parts) judgeRun(ctx context.Context, key string, h *hold) (lease.Verdict, error) {
	verdict, err := p.judge.Ask(ctx, key, h.holder(), func(ctx context.Context) (lease.Heartbeat, error) { return p.lastBeat(ctx, key) })
	if err == nil && verdict == lease.Ahead {
		return lease.Held, p.restampBeat(ctx, key)
	}
	return verdict, err
}

// lastBeat returns the last heartbeat of a schedule's run.
func (p *parts) lastBeat(ctx context.Context, key string) (lease.Heartbeat, error) {
	v, err := p.beats.Get(ctx, key)
	if errors.Is(err, engine.ErrNotFound) {
		return lease.Heartbeat{}, nil
	}
	if err != nil {
		return lease.Heartbeat{}, err
	}
	now, err := p.beats.Now(ctx)
	return lease.Heartbeat{Revision: v.Revision, Age: now.Sub(v.Time)}, err
}

// restampBeat writes the last heartbeat of a schedule again, so that it gets the engine's present
// time. The time that it has is in the future.
func (p *parts) restampBeat(ctx context.Context, key string) error {
	v, err := p.beats.Get(ctx, key)
	if err == nil {
		_, err = p.beats.Update(ctx, key, v.Data, v.Revision)
	}
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrUncertain) {
		return nil // a newer heartbeat was written, or the next call tries again
	}
	return err
}
