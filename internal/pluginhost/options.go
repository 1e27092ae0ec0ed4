package pluginhost

import (
	"cmp"
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

// Version is the version of Patchbay, as plugins and users see it.
const Version = version.Number

// Options configure a host. The zero value, and nil, read the configuration file and search the
// default places.
type Options struct {
	// Logger receives the stderr of plugins and warnings about them. Nil discards it.
	Logger *slog.Logger
	// ConfigFile replaces the default configuration file. It must exist.
	ConfigFile string
	// Files holds the configuration and the secrets, if the caller has read them already. Nil: Open
	// reads them.
	Files *Files
	// Environ replaces os.Environ. It decides where to search, and what plugins may see.
	Environ []string
	// Dir is the working directory of the host. Empty: the directory of the process.
	Dir string
	// Dirs are directories with plugins of any dialect. If not nil, no other place is searched, and
	// the user's configuration and secrets are not read, unless ConfigFile names a file.
	Dirs []string
	// Plugins are plugins made of Go functions.
	Plugins []inproc.Plugin
	// Points are the program's own points, beside the built-in ones.
	Points []Point
	// Connect connects hooks to other points than their own, as [[connect]] in the configuration
	// does.
	Connect []Connection
	// Paths are plugins to open beside those that the search finds.
	Paths []string
	// NoSearch opens only Paths and Plugins.
	NoSearch bool
	// NoStart finds plugins and starts none, for callers that list or configure them.
	NoStart bool
	// OnNotification, if not nil, is called with each notification that a plugin sends and has
	// declared. It must return at once.
	OnNotification func(Notification)
	// OnDenied, if not nil, is called when the sandbox of a plugin refuses a look-up or a
	// connection. It must return at once.
	OnDenied func(Denial)
	// OnWired, if not nil, is called when the hooks of this host have changed, or the hooks of a
	// host that [Host.In] made from it. It must return at once, and must not call the host.
	OnWired func()
	// OnStarting, if not nil, is called when the start of a plugin begins and when it is over.
	// Several goroutines call it, one at a time. It must return at once.
	OnStarting func(Starting)
	// OnStopping, if not nil, is called in the same way when [Host.Close] stops plugins.
	OnStopping func(Starting)
	// Record, if not nil, is called after each event and call with its traffic: of this host, and
	// of those that [Host.In] made from it. Several goroutines may call it at once.
	Record func(*Traffic)
	// Exempt are files and directories of plugins that are not checked against patchbay.lock,
	// because their author is working on them.
	Exempt []string
	// ReservedPrompt reports the names, with their slash, that no prompt of a project may have.
	// Nil: all names are free.
	ReservedPrompt func(name string) bool
	// Dialects limits the protocols by name. Nil: all.
	Dialects []string
	// Storage returns the storage of a plugin, limited by its quota. The text plugin identifies the
	// plugin: it is different for each. Nil: plugins get an error that there is no storage.
	Storage func(plugin string, quota dialect.StorageQuota) dialect.Storage
	// Remote connects to MCP servers at an address; mcphttp.New implements it. Nil: such servers
	// cannot be reached, and the program links no HTTP client.
	Remote mcpcall.Remote
	// Needs, if not nil, is called before a plugin is started. If it returns false, the plugin is
	// neither opened nor listed.
	Needs func(Candidate) bool

	system *sandbox.System // for tests: what the sandbox can enforce; nil: probed
}

// Files holds the parsed configuration and secrets.
type Files struct {
	Config  *config.Config
	Secrets *config.Secrets
	Stamp   string // what [StampOf] returned just before the files were read
}

// ReadFiles reads both files.
func ReadFiles(d config.Dirs) (*Files, error) {
	stamp := StampOf(d)
	read, err := config.Load(d.ConfigFile)
	if err != nil {
		return nil, err
	}
	secrets, err := config.LoadSecrets(d.SecretsFile)
	return &Files{read, secrets, stamp}, err
}

// StampOf identifies one state of both files, by their sizes, times and modes.
func StampOf(d config.Dirs) string {
	now := "files"
	for _, path := range []string{d.ConfigFile, d.SecretsFile} {
		if info, err := os.Stat(path); err == nil {
			now += fmt.Sprintf(" %d %d %v", info.Size(), info.ModTime().UnixNano(), info.Mode())
		} else {
			now += " none"
		}
	}
	return now
}

// A Denial is a look-up or a connection that a plugin's sandbox refused. It does not report files
// and programs that are not in the sandbox.
type Denial struct {
	Plugin  string `json:"plugin"`
	Dialect string `json:"dialect"`
	What    string `json:"what"`   // such as "connection to 192.0.2.7:443"
	Detail  string `json:"detail"` // the capability that would have allowed it; may be ""
	Dropped int    `json:"-"`      // how many more were not reported, because there were too many
}

// reportDenied calls OnDenied.
func (h *Host) reportDenied(e *entry, d sandbox.Denial) {
	if tell := h.setup().OnDenied; tell != nil {
		tell(Denial{Plugin: e.info.Name, Dialect: e.found.Dialect, What: d.What, Detail: d.Capability, Dropped: d.Dropped})
	}
}

// A Notification is a message that a plugin sent without being called.
type Notification struct {
	Plugin  string `json:"plugin"`
	Dialect string `json:"dialect"`
	dialect.Notification
}

// A Candidate is a plugin that was found and not yet started.
type Candidate struct {
	Name     string // a scaffold plugin's file name until it runs
	Place    string // the name of its directory or file
	Called   string // the name that it calls itself, if its files show that
	Dialect  string
	Path     string
	Points   []hook.Point // where its hooks may be called: by its protocol, and by connections
	Known    bool         // the lists below are known before the plugin runs
	Tools    []string
	Commands []string
	Err      error // why it cannot be used, if its files already show that
}

// A setup holds the options with all defaults filled in, and the configuration.
type setup struct {
	Options
	env         dialect.Env
	dirs        config.Dirs
	config      *config.Config
	secrets     *config.Secrets
	configs     atomic.Pointer[pluginConfigs] // the config of plugins
	projectRoot string
	guest       bool              // of a host that another host has opened: see [Host.In]
	project     projectCache      // the state of the project's plugins
	trust       *trust.Keeper     // patchbay.lock
	dialects    []dialect.Dialect // all of them; each is one value for the life of the host
	hiding      sync.Once         // fills in hidden
	hidden      Hidden            // see [Host.Hidden]
}

func (o *Options) setup() (*setup, error) {
	s := &setup{}
	if o != nil {
		s.Options = *o
	}
	s.dialects = dialects(s.Remote)
	s.Logger = cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
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

// place sets the working directory and the root of the project around it.
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
	s.openTrust()
	g, err := s.loadConfigs(s.config)
	s.configs.Store(g)
	return err
}

// settings returns the configuration's settings for one plugin, in the form that dialects use.
func (s *setup) settings(b pluginNames, all census) (dialect.Settings, error) {
	own := s.sections(b, all)
	out := dialect.Settings{
		Timeout:     first(own, func(p config.Plugin) time.Duration { return p.Timeout }),
		ToolTimeout: first(own, func(p config.Plugin) time.Duration { return p.ToolTimeout }),
		Standby:     first(own, func(p config.Plugin) int { return p.Standby }),
		MustWork:    own.failureEndsEvents(),
		Env:         own.env(),

		TextMessages: first(own, func(p config.Plugin) config.Conversation { return p.Messages }) == config.AsText,
	}
	var err error
	if out.Config, err = s.configs.Load().config(b); err != nil {
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

// names returns the names of the dialects that the options allow.
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

// PluginFolders lists the dialects' own directories for plugins in this environment. [Searched]
// adds those of PATH.
func PluginFolders(environ []string) []dialect.Folder {
	var folders []dialect.Folder
	for _, d := range dialects(nil) {
		folders = append(folders, d.Folders(dialect.Env{Vars: environ})...)
	}
	return folders
}

// chosen returns the dialects that the options allow.
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
