package pluginhost

import (
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/dotagent"
	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
	"github.com/patchbay-dev/patchbay/internal/dialect/mcp"
	"github.com/patchbay-dev/patchbay/internal/dialect/mine"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
	"github.com/patchbay-dev/patchbay/internal/dialect/scaffold"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
)

// dialects lists every protocol, by hand. A path a user names belongs to the first that recognises
// it; scaffold, whose plugins are any executable, is last.
func dialects(remote mcpcall.Remote) []dialect.Dialect {
	return []dialect.Dialect{
		dotagent.New(),
		mine.New(),
		kaged.New(),
		python.New(),
		mcp.New(remote),
		scaffold.New(),
	}
}
