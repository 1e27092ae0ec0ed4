package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// editor is the command that the environment names; it may have arguments, as in "code --wait".
func (a *app) editor() (string, error) {
	if editor := strings.TrimSpace(cmp.Or(a.getenv("VISUAL"), a.getenv("EDITOR"))); editor != "" {
		return editor, nil
	}
	return "", withFix(errors.New("neither $VISUAL nor $EDITOR says which editor to use"), "name one: EDITOR=nano patchbay …")
}

// edit has the user's editor edit a file, on the command's own terminal, and returns when it has ended.
func (a *app) edit(ctx context.Context, path string) error {
	streams, err := a.streams(false)
	if err != nil {
		return err
	}
	err = a.editOn(ctx, path, [3]*os.File{streams.in.file, streams.out.file, streams.err.file})
	return errors.Join(err, streams.close())
}

// editOn is edit on given streams.
func (a *app) editOn(ctx context.Context, path string, on [3]*os.File) error {
	editor, err := a.editor()
	if err != nil {
		return err
	}
	signals, stop := a.signals()
	defer stop()
	defer a.end.yield()()
	group := proc.NewGroup(a.logger())
	defer group.Close()
	exit, err := group.Foreground(ctx, editorSpec(editor, path, a.dir(), a.Environ),
		proc.Foreground{Stdin: on[0], Stdout: on[1], Stderr: on[2], Signals: signals})
	switch {
	case err != nil:
		return fmt.Errorf("editor %s: %w", editor, err)
	case exit.ShellCode() != 0:
		return withFix(fmt.Errorf("editor %s ended with exit code %d; nothing was changed", editor, exit.ShellCode()), "")
	}
	return nil
}

// editorSpec has a shell take the words of the editor apart, as git does: they may be quoted.
func editorSpec(editor, path, dir string, environ []string) proc.Spec {
	s := proc.Spec{Path: "sh", Args: []string{"-c", editor + ` "$@"`, editor, path}, Dir: dir, Env: environ}
	if runtime.GOOS == "windows" {
		words := strings.Fields(editor)
		s.Path, s.Args = words[0], append(words[1:], path)
	}
	return s
}
