package patchbay

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/inproc"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Options configure a host. With the zero value, and with nil, [Open] reads the user's
// configuration file and searches the default places of each protocol.
type Options struct {
	// Logger receives the stderr of plugins and warnings about them. Nil discards both.
	Logger *slog.Logger
	// Dir is the working directory of the host and its plugins. Empty: the directory of the
	// process.
	Dir string
	// Environ replaces os.Environ. It decides where to search, and what plugins may see.
	Environ []string
	// ConfigFile replaces the user's configuration file. It must exist.
	ConfigFile string
	// Dirs are directories with plugins of any protocol. If Dirs is not nil, even if it is empty,
	// no other place is searched, and the user's configuration and secrets are not read. With
	// ConfigFile in addition, that file and the user's secrets are read nevertheless. A directory
	// that does not exist is ignored.
	Dirs []string
	// Paths are files or directories of plugins to open beside those that the search finds.
	Paths []string
	// Plugins are plugins made of Go functions.
	Plugins []Plugin
	// Points are the program's own points, beside those of package hook.
	Points []Point
	// Connect connects hooks to other points than their own, as [[connect]] in the configuration
	// file does.
	Connect []Connection
	// Dialects limits the protocols, by the names that [Dialects] returns. Nil: all.
	Dialects []string
	// Storage returns the storage of a plugin, limited by a quota. The string plugin identifies the
	// plugin, and no two plugins share it. For a kaged plugin it is the name of the plugin's
	// directory; for others it also contains the name of the protocol. Nil: plugins get an error
	// that there is no storage.
	Storage func(plugin string, quota StorageQuota) Storage
	// OnNotification, if not nil, is called when a plugin sends a message without being called. It
	// must return immediately.
	OnNotification func(Notification)
}

// Storage stores the values of one plugin. When Put or Delete returns nil, the change must be
// durable. All methods must be safe for concurrent use.
type Storage interface {
	Get(ctx context.Context, key string) (value json.RawMessage, ok bool, err error)
	Put(ctx context.Context, key string, value json.RawMessage) error
	Delete(ctx context.Context, key string) error
	// List returns the keys that begin with prefix, sorted.
	List(ctx context.Context, prefix string) ([]string, error)
}

// A StorageQuota limits how much one plugin stores.
type StorageQuota struct {
	Bytes int64 // of all keys and values together; 0: 64 MiB
	Keys  int   // 0: 10,000
}

// A Point is a point of your program. It has the mode and the fields of the built-in point Like. An
// event at your point is sent to all plugins that hook Like, and they see it as an event at Like.
// So plugins that do not know your program can take part. A plugin that hooks your point itself
// sees an event at your point.
type Point struct {
	Name   hook.Point
	Like   hook.Point      // the built-in point
	Doc    string          // one line, for listings
	Schema json.RawMessage // JSON Schema of the payload; nil: any object
}

// A Connection connects a plugin's hook to another point than its own.
type Connection struct {
	Plugin string
	Hook   string // the protocol's name of the hook
	Point  hook.Point
}

// A Plugin is made of Go functions, which must be safe for concurrent use. It is treated like any
// other plugin: it has a priority, deadlines, failures and steps in the trace.
type Plugin struct {
	Name        string
	Description string
	Priority    int // lower priorities are called first; 0: hook.DefaultPriority
	Hooks       map[hook.Point]func(ctx context.Context, ev *hook.Event) (hook.Reply, error)
	Tools       []ToolFunc
}

// A ToolFunc is a tool of a [Plugin]. Its full name, for [Host.CallTool], is plugin_PLUGIN_NAME.
type ToolFunc struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object; nil: any object
	Call        func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// inner returns the options in the form of package pluginhost.
func (o *Options) inner() *pluginhost.Options {
	if o == nil {
		return nil
	}
	inner := &pluginhost.Options{Logger: o.Logger, Dir: o.Dir, Environ: o.Environ, ConfigFile: o.ConfigFile,
		Dirs: o.Dirs, Paths: o.Paths, Dialects: o.Dialects}
	for _, p := range o.Points {
		inner.Points = append(inner.Points, pluginhost.Point(p))
	}
	for _, c := range o.Connect {
		inner.Connect = append(inner.Connect, pluginhost.Connection(c))
	}
	for _, p := range o.Plugins {
		inner.Plugins = append(inner.Plugins, p.inner())
	}
	if o.Storage != nil {
		inner.Storage = func(plugin string, quota dialect.StorageQuota) dialect.Storage {
			return o.Storage(plugin, StorageQuota(quota))
		}
	}
	if o.OnNotification != nil {
		inner.OnNotification = func(n pluginhost.Notification) {
			o.OnNotification(Notification{Plugin: n.Plugin, Dialect: n.Dialect, Time: n.Time, Method: n.Method, Params: n.Params})
		}
	}
	return inner
}

func (p Plugin) inner() inproc.Plugin {
	inner := inproc.Plugin{Name: p.Name, Description: p.Description, Priority: p.Priority, Hooks: p.Hooks}
	for _, t := range p.Tools {
		inner.Tools = append(inner.Tools, inproc.Tool(t))
	}
	return inner
}

// Dialects returns the names of the plugin protocols that Patchbay speaks.
func Dialects() []string { return pluginhost.Dialects() }
