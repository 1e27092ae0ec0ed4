package patchbay

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Options say how a host is opened. The zero value, and nil, read the user's
// configuration file and search the places where plugins live.
type Options struct {
	// Logger gets what plugins write to stderr and what is odd about them. Nil discards it.
	Logger *slog.Logger
	// Dir is the working directory of the host's work, and of its plugins. Empty: the process's own.
	Dir string
	// Environ replaces os.Environ: where to search, and what plugins may see of it.
	Environ []string
	// ConfigFile replaces the user's configuration file. It must exist.
	ConfigFile string
	// Paths are plugins to open beside those that are found.
	Paths []string
	// Dialects limits the protocols, by name: see [Dialects]. Nil: all.
	Dialects []string
	// Storage is where plugins keep what they store: for each a place of its own,
	// within a quota. The name is one that no two plugins have. Nil: plugins are told
	// that there is no storage.
	Storage func(plugin string, quota StorageQuota) Storage
	// OnNotification is told what plugins say unasked. It must return at once. May be nil.
	OnNotification func(Notification)
}

// Storage keeps the values of one plugin. When Put and Delete return nil, the
// change is kept. All methods are safe for concurrent use.
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

// inner are the options in the words of the host's inside.
func (o *Options) inner() *pluginhost.Options {
	if o == nil {
		return nil
	}
	inner := &pluginhost.Options{Logger: o.Logger, Dir: o.Dir, Environ: o.Environ, ConfigFile: o.ConfigFile, Paths: o.Paths, Dialects: o.Dialects}
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

// Dialects lists the plugin protocols that Patchbay speaks.
func Dialects() []string { return pluginhost.Dialects() }
