package pythonfile

import (
	"context"

	"github.com/patchbay-dev/patchbay/internal/dialect/python"
)

// draftName is the name of code that is only parsed.
const draftName = "draft"

// Parse checks code without running it. Code that is not a plugin is a [*CodeError].
func (f Files) Parse(ctx context.Context, content string) error {
	rt, _ := f.host.Trial(Dialect, draftName) // nothing is run, so the sandbox is optional
	_, err := tryOut(ctx, rt, python.Draft{Name: draftName, Content: content}, (*python.Dialect).Inspect)
	return err
}
