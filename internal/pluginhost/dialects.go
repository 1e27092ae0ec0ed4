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

// dialects returns all protocols. If a user names a path, the first dialect that recognises it owns
// the plugin. Scaffold, which accepts every executable, is therefore last.
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
