package patchbay

import (
	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/dialect/dotagent"
	"github.com/patchbay-dev/patchbay/dialect/kaged"
	"github.com/patchbay-dev/patchbay/dialect/mine"
	"github.com/patchbay-dev/patchbay/dialect/python"
	"github.com/patchbay-dev/patchbay/dialect/scaffold"
)

// dialects lists every protocol, by hand. A path a user names belongs to the
// first that recognises it; scaffold, whose plugins are any executable, is last.
func dialects() []dialect.Dialect {
	return []dialect.Dialect{
		dotagent.New(),
		mine.New(),
		kaged.New(),
		python.New(),
		scaffold.New(),
	}
}
