package job

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/lease"
)

// tmpPrefix begins the names of agents' temporary directories.
const tmpPrefix = "patchbay-"

// hold says which process runs the active run of a schedule. It is part of the page.
type hold struct {
	Token  string       `json:"token"` // of one attempt alone: processes of different machines may have one name
	Holder lease.Holder `json:"holder"`
	Tmp    string       `json:"tmp"` // the attempt's temporary directory, there or not
}

// newHold is for an attempt that this process is about to make. The directory's name is known
// before it is made, so that whoever finds the process dead knows what to remove.
func (r *Runner) newHold(m *Manifest) hold {
	token := strings.ToLower(rand.Text())
	return hold{Token: token, Holder: r.Holder, Tmp: filepath.Join(os.TempDir(), tmpPrefix+m.Slug()+"-"+token)}
}

// holder is who runs the active run; nobody that could be asked where the page does not say.
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

// removeTmp removes the temporary directory that a dead process has left. Its name has the token in
// it, which nobody could have guessed: so it is the one that was meant, whatever else the page
// says.
func (h *hold) removeTmp() error {
	if h == nil {
		return nil
	}
	name := filepath.Base(h.Tmp)
	if len(h.Token) != len(rand.Text()) || !strings.HasPrefix(name, tmpPrefix) || !strings.HasSuffix(name, "-"+h.Token) {
		return nil
	}
	return os.RemoveAll(h.Tmp)
}

// judge decides whether the run of a page is still somebody's.
func (p *parts) judgeRun(ctx context.Context, key string, h *hold) (lease.Verdict, error) {
	verdict, err := p.judge.Ask(ctx, key, h.holder(), func(ctx context.Context) (lease.Sign, error) { return p.lastBeat(ctx, key) })
	if err == nil && verdict == lease.Ahead {
		return lease.Held, p.restampBeat(ctx, key)
	}
	return verdict, err
}

// lastBeat is the last sign of life of a schedule's run.
func (p *parts) lastBeat(ctx context.Context, key string) (lease.Sign, error) {
	v, err := p.beats.Get(ctx, key)
	if errors.Is(err, engine.ErrNotFound) {
		return lease.Sign{}, nil
	}
	if err != nil {
		return lease.Sign{}, err
	}
	now, err := p.beats.Now(ctx)
	return lease.Sign{Revision: v.Revision, Age: now.Sub(v.Time)}, err
}

// restampBeat writes a sign of life from the future again, by which it gets the engine's present
// time.
func (p *parts) restampBeat(ctx context.Context, key string) error {
	v, err := p.beats.Get(ctx, key)
	if err == nil {
		_, err = p.beats.Update(ctx, key, v.Data, v.Revision)
	}
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrUncertain) {
		return nil // another sign has come
	}
	return err
}
