package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/scratch"
)

func newConfigEditCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "edit",
		SuggestFor: []string{"set"},
		Short:      "Edit the configuration; a mistake never reaches the file",
		Long: `Open a copy of config.toml in $VISUAL or $EDITOR. When the editor ends, the copy
is checked. Every mistake is shown with its line and column, and you may edit
again. A copy without mistakes replaces the file as a whole, and the old file is
kept beside it. If there is no file yet, you edit the text that
` + "`patchbay config init`" + ` writes.

Nothing is written if another program has changed the file in the meantime, if
the editor fails, or if you stop with mistakes left. Your text is then kept
beside the file, as config.toml.patchbay.draft.`,
		Example: `  patchbay config edit
  EDITOR='code --wait' patchbay config edit`,
		Annotations: exits(exit{exitOK, "the file was written, or you changed nothing"},
			exit{exitFailed, "there is no editor, it failed, or another program changed the file"}, exit{exitConfig, "the text has mistakes, and was not written"}),
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runConfigEdit(cmd.Context()) },
	}
}

func (a *app) runConfigEdit(ctx context.Context) error {
	dirs, err := a.configDirs()
	if err != nil {
		return err
	}
	if _, err := a.editor(); err != nil {
		return err
	}
	d, err := newDraft(dirs.ConfigFile)
	if err != nil {
		return err
	}
	defer d.remove()
	if err := a.editUntilValid(ctx, d); err != nil {
		return err
	}
	if bytes.Equal(d.text, d.begin) {
		return a.printWritten(editfile.Result{Path: d.file})
	}
	result, err := editfile.Edit(d.place(), d.replace)
	if err != nil {
		return d.keep(&problem{kind: kindFailed, err: err})
	}
	return a.printWritten(result)
}

// editUntilValid opens the draft in the editor until it has no mistakes or the user stops.
func (a *app) editUntilValid(ctx context.Context, d *draft) error {
	for {
		failed := a.edit(ctx, d.path)
		if err := d.read(); err != nil {
			return errors.Join(failed, fmt.Errorf("nothing was written: the copy that was edited cannot be read: %w", err))
		}
		if failed != nil && bytes.Equal(d.text, d.begin) {
			return failed
		}
		if failed != nil {
			return d.keep(&problem{kind: kindFailed, err: failed})
		}
		_, err := config.ParseConfig(d.file, d.text)
		switch {
		case ctx.Err() != nil:
			return d.keep(&problem{kind: kindInterrupted, err: errors.New("interrupted; nothing was written")})
		case err == nil:
			return nil
		case !a.InTTY:
			return d.keep(err)
		}
		a.reportText(kindConfig, err)
		again, askErr := a.confirm(ctx, "Edit again?")
		if askErr != nil || !again {
			return d.keep(&problem{kind: kindConfig, err: errors.Join(errors.New("nothing was written"), askErr)})
		}
	}
}

func (a *app) printWritten(r editfile.Result) error {
	if a.flags.json {
		return a.printJSON(written{Path: r.Path, Written: r.Changed, Backup: r.Backup})
	}
	switch {
	case !r.Changed:
		a.printf("nothing was changed\n")
	case r.Backup != "":
		a.printf("written: %s; the old file is %s\n", a.place(r.Path), a.place(r.Backup))
	default:
		a.printf("written: %s\n", a.place(r.Path))
	}
	return nil
}

// A draft is the copy of a file in the editor.
type draft struct {
	file  string // the file to write, with symbolic links followed
	old   []byte // the text of file; nil: it does not exist
	begin []byte // the first text of the draft
	text  []byte // the present text of the draft
	dir   string // a directory for the draft, which only the user can read
	path  string
}

func newDraft(file string) (*draft, error) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // config.toml may be a link into a directory of dotfiles
	}
	d := &draft{file: file}
	var err error
	d.old, err = plainfile.Read(file, document.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.begin = []byte(config.Sample())
	case err != nil:
		return nil, err
	default:
		d.begin = d.old
	}
	if d.dir, _, err = scratch.Make("config"); err != nil {
		return nil, err
	}
	d.path = filepath.Join(d.dir, filepath.Base(file))
	if err := os.WriteFile(d.path, d.begin, 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.dir))
	}
	return d, nil
}

func (d *draft) read() (err error) {
	d.text, err = plainfile.Read(d.path, document.MaxSize)
	return err
}

// remove deletes the copy. If that fails, the next command that makes a copy deletes it.
func (d *draft) remove() { _ = os.RemoveAll(d.dir) }

func (d *draft) place() editfile.Place {
	return editfile.Place{Dir: filepath.Dir(d.file), Name: filepath.Base(d.file), Mode: 0o600}
}

// replace returns the draft's text, unless another program has changed the file.
func (d *draft) replace(now []byte) ([]byte, error) {
	if (now == nil) != (d.old == nil) || !bytes.Equal(now, d.old) {
		return nil, editfile.ErrChanged
	}
	return d.text, nil
}

// keep writes the text of the draft beside the file, and adds its path to the error.
func (d *draft) keep(why error) error {
	place := d.place()
	place.Name += ".patchbay.draft"
	result, err := editfile.Edit(place, func([]byte) ([]byte, error) { return d.text, nil })
	if err != nil {
		return errors.Join(why, fmt.Errorf("your text could not be kept: %w", err))
	}
	return &problem{kind: statedKind(why), err: why, fix: "your text is kept in " + result.Path}
}
