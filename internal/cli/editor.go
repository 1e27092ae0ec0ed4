package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/scratch"
)

// editor returns the command of $VISUAL or $EDITOR. It may have arguments, as in "code --wait".
func (a *app) editor() (string, error) {
	if editor := strings.TrimSpace(cmp.Or(a.getenv("VISUAL"), a.getenv("EDITOR"))); editor != "" {
		return editor, nil
	}
	return "", withFix(errors.New("neither $VISUAL nor $EDITOR names an editor"), "set one: EDITOR=nano patchbay …")
}

// edit opens a file in the user's editor, on the command's own terminal, and returns when the
// editor ends.
func (a *app) edit(ctx context.Context, path string) error {
	streams, err := a.streams(false)
	if err != nil {
		return err
	}
	err = a.editOn(ctx, path, [3]*os.File{streams.in.file, streams.out.file, streams.err.file})
	return errors.Join(err, streams.close())
}

// editText opens a text in the user's editor, in a file that only the user can read, and returns
// the edited text.
func (a *app) editText(ctx context.Context, name, text string) (string, error) {
	dir, _, err := scratch.Make("edit")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	if err := a.edit(ctx, path); err != nil {
		return "", err
	}
	edited, err := plainfile.Read(path, maxPrompt)
	return string(edited), err
}

// editMessage is editText for the chat, whose screen shows an error with its fix as one text.
func (a *app) editMessage(ctx context.Context, text string) (string, error) {
	edited, err := a.editText(ctx, "message.md", text)
	if fix := fixOf(err); err != nil && fix != "" {
		err = fmt.Errorf("%w\n%s", err, fix)
	}
	return edited, err
}

// editOn is edit on given streams.
func (a *app) editOn(ctx context.Context, path string, on [3]*os.File) error {
	editor, err := a.editor()
	if err != nil {
		return err
	}
	if err := a.runOn(ctx, editor, path, on); err != nil {
		return withFix(fmt.Errorf("editor %w", err), "name an editor that works: EDITOR=nano patchbay …")
	}
	return nil
}

// runOn runs a command of the user's environment, which may have arguments, with a file as its last
// argument and on given streams.
func (a *app) runOn(ctx context.Context, command, path string, on [3]*os.File) error {
	signals, stop := a.signals()
	defer stop()
	defer a.end.yield()()
	group := proc.NewGroup(a.logger())
	defer group.Close()
	exit, err := group.Foreground(ctx, shellSpec(command, path, a.dir(), a.Environ),
		proc.Foreground{Stdin: on[0], Stdout: on[1], Stderr: on[2], Signals: signals})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", command, err)
	case exit.ShellCode() != 0:
		return fmt.Errorf("%s ended with exit code %d; nothing was changed", command, exit.ShellCode())
	}
	return nil
}

// shellSpec returns a program that runs command in a shell. As with git, words of command may be
// quoted.
func shellSpec(command, path, dir string, environ []string) proc.Spec {
	s := proc.Spec{Path: "sh", Args: []string{"-c", command + ` "$@"`, command, path}, Dir: dir, Env: environ}
	if runtime.GOOS == "windows" {
		words := strings.Fields(command)
		s.Path, s.Args = words[0], append(words[1:], path)
	}
	return s
}
