package pythonfile

import (
	"context"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
)

// Check describes code as a plugin of that name, without saving it. For code that is not a plugin
// it returns a [*CodeError]. The code runs in a sandbox with nothing but the interpreter and its
// packages. If the code may have failed because of the sandbox, the error says so. Without a
// sandbox the code is only read: docs/protocols/python.md, rows P30 to P33.
func (f Files) Check(ctx context.Context, name, content string) (Source, error) {
	path, err := f.path(name)
	if err != nil {
		return Source{}, err
	}
	s, err := f.try(ctx, name, content)
	s.Path = path
	return s, err
}

// CheckFile does the same as [Files.Check] for the code in a file, which may be anywhere and have
// any name. A [*CodeError] has the file's path.
func (f Files) CheckFile(ctx context.Context, path string) (Source, error) {
	content, err := read(path)
	if err != nil {
		return Source{}, err
	}
	s, err := f.try(ctx, python.FileName(path), content)
	s.Path = path
	if err == nil {
		s.Warnings = append(s.Warnings, s.ownName(path)...)
	}
	if fault, ok := errors.AsType[*CodeError](err); ok {
		placed := *fault
		placed.Problem.Path = path
		return s, &placed
	}
	return s, err
}

// ownName gives a checked file the name that it would have where it is, and returns the warning
// about it, if there is one.
func (s *Source) ownName(path string) []python.Warning {
	owner := python.OwnerOf(s.called, path)
	if owner == "" {
		return nil
	}
	s.Name = s.File
	return []python.Warning{python.Misnamed(path, s.called, owner)}
}

// try checks code under any name.
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

// tryOut checks code in an interpreter of its own.
func tryOut(ctx context.Context, rt *dialect.Runtime, draft python.Draft,
	look func(*python.Dialect, context.Context, *dialect.Runtime, python.Draft) (*python.Validated, error)) (Source, error) {
	v, err := look(python.New(), ctx, rt, draft)
	if err != nil {
		return Source{}, err
	}
	return Source{Name: v.Name, File: draft.Name, Hooks: orEmpty(v.Hooks), Metadata: v.Metadata, Warnings: v.Warnings, called: v.Called}, nil
}

// Decorated reports whether a file of any dialect looks like a python plugin.
func Decorated(path string) bool {
	content, err := read(path)
	return err == nil && python.Decorated(content)
}

// path returns the file of the plugin of that name. For a name under which no plugin can be saved
// it returns [ErrBadName].
func (f Files) path(name string) (string, error) {
	path, err := python.Path(f.host.Env(), name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrBadName, err)
	}
	return path, nil
}
