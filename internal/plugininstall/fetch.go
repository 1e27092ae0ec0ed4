package plugininstall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/scratch"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// Options say where plugins are installed.
type Options struct {
	Environ  []string
	Dirs     config.Dirs // LockFile is the lock in force
	Dialects []string    // only plugins of these; nil: of all
	Log      *slog.Logger
	Progress func(text string) // called with what is being done; may be nil
	Secrets  func() []string   // returns the secrets: the lock keeps no copy of a file that contains one; may be nil

	tls *tls.Config // for tests; nil: the system's
}

func (o *Options) tell(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// book returns the lock that plugins are recorded in.
func (o *Options) book() trust.Book {
	return trust.Book{Lock: o.Dirs.LockFile, Texts: o.Dirs.LockTexts, Secrets: o.Secrets}
}

// Fetched is a source on this machine, in its own directory.
type Fetched struct {
	Source  Source
	Commit  string   // of a repository
	Plugins []Plugin // the plugins in it
	Notes   []string // what was left out, and other oddities

	o     Options
	stage string // removed by Close
	tree  string // below it
}

// stages returns the directory for unpacking sources, and for the files of plugins that do not fit
// into a dialect's place.
func stages(d config.Dirs) string { return filepath.Join(d.Data, "plugins") }

// Fetch copies a source into a staging directory, and finds the plugins in it. The caller closes
// the result.
func Fetch(ctx context.Context, s Source, o Options) (*Fetched, error) {
	if err := os.MkdirAll(stages(o.Dirs), 0o700); err != nil {
		return nil, err
	}
	f := &Fetched{Source: s, o: o}
	if err := Sweep(o); err != nil { // not a reason to stop
		f.Notes = append(f.Notes, err.Error())
	}
	var err error
	if f.stage, err = scratch.MakeIn(stages(o.Dirs), "fetch"); err != nil {
		return nil, err
	}
	f.tree = filepath.Join(f.stage, "tree")
	if err = os.Mkdir(f.tree, 0o700); err == nil {
		err = f.fill(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.Plugins = f.detect()
	return f, nil
}

// Close removes the staging directory.
func (f *Fetched) Close() error { return scratch.Remove(f.stage) }

// fill writes the files of the source into the tree.
func (f *Fetched) fill(ctx context.Context) (err error) {
	s, err := newSink(f.tree)
	if err != nil {
		return err
	}
	err = f.copySource(ctx, s)
	f.Notes = append(f.Notes, s.notes...)
	return errors.Join(err, s.close())
}

func (f *Fetched) copySource(ctx context.Context, s *sink) error {
	switch f.Source.Kind {
	case Directory:
		f.o.tell("copying %s", f.Source.Path)
		return copyTree(ctx, s, f.Source.Path)
	case SingleFile:
		info, err := os.Stat(f.Source.Path)
		if err != nil {
			return err
		}
		name, ok, err := clean(filepath.Base(f.Source.Path))
		if err != nil || !ok {
			return errors.Join(err, badSource(forms, "%s is not a plugin", f.Source.Path))
		}
		return s.copyFile(name, f.Source.Path, info.Mode())
	case Archive:
		f.o.tell("unpacking %s", f.Source.Path)
		return unpack(ctx, s, f.Source.Path)
	case WebArchive:
		f.o.tell("fetching %s", f.Source.Text)
		archive := filepath.Join(f.stage, "archive")
		if err := download(ctx, f.Source, archive, f.o.tls); err != nil {
			return err
		}
		if f.Source.URL != f.Source.Text {
			f.Notes = append(f.Notes, "patchbay.lock has the address of the archive without the part after the ?, which may be a key. If plugin update needs that part, install the plugin again")
		}
		f.o.tell("unpacking it")
		return unpack(ctx, s, archive)
	}
	return f.copyRepository(ctx, s)
}

func (f *Fetched) copyRepository(ctx context.Context, s *sink) (err error) {
	procs := proc.NewGroup(f.o.logger())
	defer func() { err = errors.Join(err, procs.Close()) }()
	g, err := newGit(ctx, procs, f.o.Environ, f.stage)
	if err != nil {
		return err
	}
	f.o.tell("fetching %s", f.Source.URL)
	if f.Commit, err = g.fetch(ctx, f.Source.URL, f.Source.Ref); err != nil {
		return err
	}
	f.o.tell("reading the files of commit %.12s", f.Commit)
	return g.export(ctx, s, f.Commit)
}

func (o *Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}
