package pluginhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/inproc"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
	"github.com/patchbay-dev/patchbay/internal/trust"
	"github.com/patchbay-dev/patchbay/internal/version"
)

// Version is what Patchbay tells plugins and users it is.
const Version = version.Number

// Options say how a host is opened. The zero value, and nil, read the configuration file and search
// the default places.
type Options struct {
	// Logger gets what plugins write to stderr and what is odd about them. Nil discards it.
	Logger *slog.Logger
	// ConfigFile replaces the default configuration file. It must exist.
	ConfigFile string
	// Files are the configuration and the secrets, for who has read them already. Nil: they are
	// read.
	Files *Files
	// Environ replaces os.Environ: where to search, and what plugins may see of it.
	Environ []string
	// Dir is the working directory of the host's work. Empty: the process's own.
	Dir string
	// Dirs are directories with plugins of any dialect in them. Where they are given, no other
	// place is searched, and the user's configuration and secrets are not read, unless ConfigFile
	// names a file.
	Dirs []string
	// Plugins are plugins that are made of functions of this process.
	Plugins []inproc.Plugin
	// Points are the program's own, beside the built-in ones.
	Points []Point
	// Connect wires hooks to points beyond their own, as [[connect]] in the configuration does.
	Connect []Connection
	// Paths are plugins to open beside those that are found.
	Paths []string
	// NoSearch opens Paths alone.
	NoSearch bool
	// NoStart finds plugins and starts none: for those who want to know what there is, or to
	// configure it.
	NoStart bool
	// OnNotification is told what plugins say unasked, as far as they have announced it. It must
	// return at once. May be nil.
	OnNotification func(Notification)
	// OnDenied is told what the sandboxes of plugins refused them. It must return at once. May be
	// nil.
	OnDenied func(Denial)
	// OnWired is told that the hooks of a host have changed: of this one, or of one that [Host.In]
	// made of it. It must return at once, and must not call the host. May be nil.
	OnWired func()
	// OnStarting is told how far the start of plugins has come: when one begins, and when one is
	// over. It is called by several goroutines, one at a time, and must return at once. May be nil.
	OnStarting func(Starting)
	// Record is told what went through the plugins, once it has: of this host, and of those that
	// [Host.In] made of it. It may be called from several goroutines at once. May be nil.
	Record func(*Traffic)
	// Exempt are files and directories of plugins that are not held against patchbay.lock: those
	// that their author is working on.
	Exempt []string
	// ReservedPrompt tells of names, with their slash, that no prompt of a project may have. Nil:
	// there are none.
	ReservedPrompt func(name string) bool
	// Dialects limits the protocols by name. Nil: all.
	Dialects []string
	// Storage is where plugins keep what they store, by a name that no two of them have, each
	// within its quota. Nil: they are told that there is no storage.
	Storage func(plugin string, quota dialect.StorageQuota) dialect.Storage
	// Remote reaches MCP servers at an address: mcphttp.New. Nil: they cannot be reached, and the
	// program links no HTTP client.
	Remote mcpcall.Remote
	// Needs, where it is not nil, is asked before a plugin is started. One that is not needed is
	// not opened and not listed.
	Needs func(Candidate) bool

	system *sandbox.System // what can be enforced here; nil: found out. For tests
}

// Files are what the operator wrote.
type Files struct {
	Config  *config.Config
	Secrets *config.Secrets
}

// ReadFiles reads them.
func ReadFiles(d config.Dirs) (*Files, error) {
	read, err := config.Load(d.ConfigFile)
	if err != nil {
		return nil, err
	}
	secrets, err := config.LoadSecrets(d.SecretsFile)
	return &Files{Config: read, Secrets: secrets}, err
}

// A Denial is something that the sandbox of a plugin refused it.
type Denial struct {
	Plugin  string `json:"plugin"`
	Dialect string `json:"dialect"`
	What    string `json:"what"`   // as in "connection to 192.0.2.7:443"
	Detail  string `json:"detail"` // what would have allowed it; may be ""
	Dropped int    `json:"-"`      // so many more, which were too many to be told of
}

// tellDenied passes a denial on.
func (h *Host) tellDenied(e *entry, d sandbox.Denial) {
	if tell := h.setup().OnDenied; tell != nil {
		tell(Denial{Plugin: e.info.Name, Dialect: e.found.Dialect, What: d.What, Detail: d.Capability, Dropped: d.Dropped})
	}
}

// A Notification is something that a plugin said unasked.
type Notification struct {
	Plugin  string `json:"plugin"`
	Dialect string `json:"dialect"`
	dialect.Notification
}

// A Candidate is a plugin that was found and not yet started.
type Candidate struct {
	Name     string // as far as it is known: a scaffold plugin's file name
	Place    string // the name of its directory or file
	Dialect  string
	Path     string
	Points   []hook.Point // where it may be asked: natively, and by connections
	Known    bool         // whether the lists below are known before the plugin runs
	Hooks    []string     // the dialect's own names
	Tools    []string
	Methods  []string
	Commands []string
	Err      error // why it cannot be used, where its files alone show that
}

// setup is what Open works with: the options, made whole.
type setup struct {
	Options
	env         dialect.Env
	dirs        config.Dirs
	config      *config.Config
	secrets     *config.Secrets
	given       atomic.Pointer[given] // the config of plugins
	projectRoot string
	project     lookedUp          // how the project's plugins stand
	trust       *trust.Keeper     // patchbay.lock
	dialects    []dialect.Dialect // all of them: one value each for the life of the host
	hiding      sync.Once         // fills in hidden
	hidden      Hidden            // see [Host.Hidden]
}

func (o *Options) setup() (*setup, error) {
	s := &setup{}
	if o != nil {
		s.Options = *o
	}
	s.dialects = dialects(s.Remote)
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.Environ == nil {
		s.Environ = os.Environ()
	}
	s.env = dialect.Env{Vars: s.Environ}
	if err := s.absoluteDirs(); err != nil {
		return nil, err
	}
	if err := s.place(); err != nil {
		return nil, err
	}
	return s, s.load()
}

// place finds the working directory and the project around it.
func (s *setup) place() (err error) {
	if s.Dir == "" {
		if s.Dir, err = os.Getwd(); err != nil {
			return fmt.Errorf("working directory: %w", err)
		}
	}
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	s.projectRoot = ProjectRoot(s.Dir)
	return nil
}

// load reads the configuration and the secrets.
func (s *setup) load() (err error) {
	if s.dirs, err = config.Locate(s.env.Get, runtime.GOOS); err != nil {
		return err
	}
	if s.ConfigFile != "" {
		if _, err := os.Stat(s.ConfigFile); err != nil {
			return fmt.Errorf("config file: %w", err)
		}
		if s.dirs, err = s.dirs.WithConfig(s.ConfigFile); err != nil {
			return err
		}
	}
	if s.own() {
		return s.loadNothing()
	}
	files := s.Files
	if files == nil {
		if files, err = ReadFiles(s.dirs); err != nil {
			return err
		}
	}
	s.config, s.secrets = files.Config, files.Secrets
	if err := s.openTrust(); err != nil {
		return err
	}
	g, err := s.loadGiven(s.config)
	s.given.Store(g)
	return err
}

// settings are the configuration's words on one plugin, as a dialect wants them.
func (s *setup) settings(b bearer, all census) (dialect.Settings, error) {
	own := s.sections(b, all)
	out := dialect.Settings{
		Timeout:     first(own, func(p config.Plugin) time.Duration { return p.Timeout }),
		ToolTimeout: first(own, func(p config.Plugin) time.Duration { return p.ToolTimeout }),
		Standby:     first(own, func(p config.Plugin) int { return p.Standby }),
		Env:         own.env(),
	}
	var err error
	if out.Config, err = s.given.Load().config(b); err != nil {
		return out, err
	}
	if table := s.systemConfig(b, all); table != nil {
		if out.SystemConfig, err = json.Marshal(table); err != nil {
			return out, fmt.Errorf("secrets of plugin %s: %w", b.place, err)
		}
	}
	return out, nil
}

// ErrNoDialect is returned for a dialect that Patchbay does not speak.
var ErrNoDialect = errors.New("no such dialect")

// names are the dialects of a whole search.
func (s *setup) names() []string {
	if s.Dialects != nil {
		return s.Dialects
	}
	return Dialects()
}

// Dialects lists the protocols that Patchbay speaks.
func Dialects() []string {
	var names []string
	for _, d := range dialects(nil) {
		names = append(names, d.Name())
	}
	return names
}

// Places lists where plugins are looked for in this environment.
func Places(environ []string) []dialect.Place {
	var places []dialect.Place
	for _, d := range dialects(nil) {
		places = append(places, d.Places(dialect.Env{Vars: environ})...)
	}
	return places
}

// chosen are the dialects the options ask for.
func (s *setup) chosen() ([]dialect.Dialect, error) {
	if s.Dialects == nil {
		return s.dialects, nil
	}
	for _, name := range s.Dialects {
		if !slices.Contains(Dialects(), name) {
			return nil, fmt.Errorf("%w: %q; there are %s", ErrNoDialect, name, strings.Join(Dialects(), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(s.dialects), func(d dialect.Dialect) bool {
		return !slices.Contains(s.Dialects, d.Name())
	}), nil
}
