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

// Options say how a host is opened. The zero value, and nil, read the user's configuration file and
// search the places where plugins live.
type Options struct {
	// Logger gets what plugins write to stderr and what is odd about them. Nil discards it.
	Logger *slog.Logger
	// Dir is the working directory of the host's work, and of its plugins. Empty: the process's
	// own.
	Dir string
	// Environ replaces os.Environ: where to search, and what plugins may see of it.
	Environ []string
	// ConfigFile replaces the user's configuration file. It must exist.
	ConfigFile string
	// Dirs are directories with plugins in them, of any dialect. Where they are given, no other
	// place is searched, and the user's configuration and secrets are not read, unless ConfigFile
	// names a file. A directory that does not exist has no plugins.
	Dirs []string
	// Paths are plugins to open beside those that are found.
	Paths []string
	// Plugins are plugins made of Go functions: the program's own, or those of its tests.
	Plugins []Plugin
	// Points are the program's own points, beside those of package hook.
	Points []Point
	// Connect wires hooks to points beyond their own, as [[connect]] in the configuration file
	// does.
	Connect []Connection
	// Dialects limits the protocols, by name: see [Dialects]. Nil: all.
	Dialects []string
	// Storage is where plugins keep what they store: for each a place of its own, within a quota.
	// The name is one that no two plugins have. Nil: plugins are told that there is no storage.
	Storage func(plugin string, quota StorageQuota) Storage
	// OnNotification is told what plugins say unasked. It must return at once. May be nil.
	OnNotification func(Notification)
}

// Storage keeps the values of one plugin. When Put and Delete return nil, the change is kept. All
// methods are safe for concurrent use.
type Storage interface {
	Get(ctx context.Context, key string) (value json.RawMessage, ok bool, err error)
	Put(ctx context.Context, key string, value json.RawMessage) error
	Delete(ctx context.Context, key string) error
	// List returns the keys that begin with prefix, in order.
	List(ctx context.Context, prefix string) ([]string, error)
}

// A StorageQuota bounds what one plugin stores.
type StorageQuota struct {
	Bytes int64 // of all keys and values together; 0: 64 MiB
	Keys  int   // 0: 10,000
}

// A Point is a point of your program's own. It is like a built-in one: in its mode, in the fields
// that plugins may change, and in who is asked, which are all plugins that hook the built-in one. A
// plugin is told of the built-in point's event, so that plugins which know nothing of your program
// take part.
type Point struct {
	Name   hook.Point
	Like   hook.Point      // a built-in one
	Doc    string          // one line
	Schema json.RawMessage // JSON Schema that payloads are held to; nil: any object
}

// A Connection wires a plugin's hook to a point beyond its own.
type Connection struct {
	Plugin string
	Hook   string // the dialect's own name
	Point  hook.Point
}

// A Plugin is made of Go functions, which are safe for concurrent use. It takes part like any other
// plugin: in order, with deadlines, failures and a trace.
type Plugin struct {
	Name        string
	Description string
	Priority    int // lower is asked first; 0: hook.DefaultPriority
	Hooks       map[hook.Point]func(ctx context.Context, ev *hook.Event) (hook.Reply, error)
	Tools       []ToolFunc
}

// A ToolFunc is a tool of a [Plugin]. [Host.CallTool] knows it as plugin_PLUGIN_NAME.
type ToolFunc struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object; nil: any
	Call        func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// inner are the options in the words of the host's inside.
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

// Dialects lists the plugin protocols that Patchbay speaks.
func Dialects() []string { return pluginhost.Dialects() }
