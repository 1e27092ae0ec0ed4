package pythonfile

import (
	"context"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
)

// Check says what code would be as a plugin of that name, without saving it. Code that is none is a
// [*CodeError]. The code runs in a sandbox in which there is nothing but the interpreter and its
// packages, and the error says where that may be why it fails. Where there is no sandbox, the code
// is read and not run.
func (f Files) Check(ctx context.Context, name, content string) (Source, error) {
	path, err := f.path(name)
	if err != nil {
		return Source{}, err
	}
	s, err := f.try(ctx, name, content)
	s.Path = path
	return s, err
}

// CheckFile does what [Files.Check] does for the code in a file, wherever that is, and whatever it
// is called: the file of a plugin may have any name. A [*CodeError] has the file's path.
func (f Files) CheckFile(ctx context.Context, path string) (Source, error) {
	content, err := read(path)
	if err != nil {
		return Source{}, err
	}
	s, err := f.try(ctx, python.FileName(path), content)
	s.Path = path
	if fault, ok := errors.AsType[*CodeError](err); ok {
		placed := *fault
		placed.Problem.Path = path
		return s, &placed
	}
	return s, err
}

// try is the check itself, whatever the name is.
func (f Files) try(ctx context.Context, name, content string) (Source, error) {
	look := (*python.Dialect).Validate
	rt, notRun := f.host.Trial(Dialect, name)
	if notRun != nil {
		rt.Log.Info("code is checked without being run", "err", notRun)
		look = (*python.Dialect).Inspect
	}
	s, err := tryOut(ctx, rt, python.Draft{Name: name, Content: content}, look)
	s.NotRun = notRun
	return s, python.Tried(err)
}

// tryOut lets an interpreter of its own look at code.
func tryOut(ctx context.Context, rt *dialect.Runtime, draft python.Draft,
	look func(*python.Dialect, context.Context, *dialect.Runtime, python.Draft) (*python.Validated, error)) (Source, error) {
	v, err := look(python.New(), ctx, rt, draft)
	if err != nil {
		return Source{}, err
	}
	return Source{Name: v.Name, File: draft.Name, Hooks: orEmpty(v.Hooks), Metadata: v.Metadata, Warnings: v.Warnings, called: v.Called}, nil
}

// path is where the plugin of a name is saved. A name under which none can be is [ErrBadName].
func (f Files) path(name string) (string, error) {
	path, err := python.Path(f.host.Env(), name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrBadName, err)
	}
	return path, nil
}
