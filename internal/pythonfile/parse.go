package pythonfile

import (
	"context"

	"github.com/patchbay-dev/patchbay/internal/dialect/python"
)

// draftName is what code is called that is only looked at.
const draftName = "draft"

// Parse looks at code without running it. Code that is no plugin is a [*CodeError].
func (f Files) Parse(ctx context.Context, content string) error {
	rt, _ := f.host.Trial(Dialect, draftName) // nothing is run, so it needs no sandbox; where there is one, it is in it
	_, err := tryOut(ctx, rt, python.Draft{Name: draftName, Content: content}, (*python.Dialect).Inspect)
	return err
}
