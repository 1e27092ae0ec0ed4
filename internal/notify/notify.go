package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// The drivers that are built in. A manifest may also say "plugin", which is not ours: the hub calls
// those.
const (
	Desktop  = "desktop"
	IMessage = "imessage"
	Slack    = "slack"
	Ntfy     = "ntfy"
	Pushover = "pushover"
	Telegram = "telegram"
)

// Drivers are the names of the built-in drivers.
func Drivers() []string {
	return []string{Desktop, IMessage, Slack, Ntfy, Pushover, Telegram}
}

// A Sender tells somebody something. It is safe for concurrent use.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// A Notifier is one configured way to tell somebody something. It is safe for concurrent use, and
// nothing it returns holds a secret.
type Notifier interface {
	Sender
	// Describe says what Send would send. It does no I/O.
	Describe(m Message) Preview
	// Reach tells whether a message could be sent, without sending one. What that proves depends on
	// the driver: see each of them.
	Reach(ctx context.Context) error
}

// A Preview is what a notifier would send, with every secret as ***.
type Preview struct {
	Driver  string   `json:"driver"`
	Method  string   `json:"method"`            // POST, or the program or bus that is asked
	Address string   `json:"address,omitempty"` // a URL or a name on the bus
	Body    string   `json:"body"`
	Notes   []string `json:"notes,omitempty"` // settings without effect on this system
}

// Options are what notifiers have in common. The zero value knows no variables and no programs.
type Options struct {
	// Lookup returns the value of a variable in a setting, ${NAME}: from the secrets file, else
	// from the environment (docs/protocols/dotagent.md, row D55). nil: no variable is known.
	Lookup func(name string) (string, bool)
	HTTP   *http.Client // nil: a plain one; its redirect policy is replaced
	Procs  *proc.Group  // runs the programs of desktop and imessage, which cannot be without it
	Logger *slog.Logger // nil discards

	// Environ is the environment, of which programs and the session bus get a few variables. nil:
	// the host's.
	Environ []string
	System  string // whose programs are used: "linux", "darwin", "windows"; "": this one's (runtime.GOOS)

	wait func(ctx context.Context, d time.Duration) error // between two tries; nil: really wait (tests do not)
}

// New makes a notifier of a manifest's [[notifiers]] entry. The settings are the driver's own keys
// as TOML or JSON has them; driver, events and rate_limit_minutes may be among them and are the
// caller's affair. It does no I/O.
//
// What is wrong with the settings is a [*SettingsError] with every complaint. A driver that this
// system cannot have is an error that is [errors.ErrUnsupported]: the manifest is not broken, it is
// only not for this machine.
func New(driver string, settings map[string]any, o Options) (Notifier, error) {
	build, ok := builders()[driver]
	if !ok {
		return nil, unknownDriver(driver)
	}
	o = o.filled()
	s := newSettings(driver, settings, o.Lookup)
	n, err := build(s)(o)
	if err != nil {
		return nil, fmt.Errorf("notifier %s: %w", driver, err)
	}
	if err := s.err(); err != nil {
		return nil, err
	}
	return n, nil
}

// A builder reads its settings, which are listed there and nowhere else, and returns what makes a
// notifier of them. Complaints about settings are noted in s; the maker's error is for what no
// setting can mend.
type builder func(s *settings) maker

type maker func(o Options) (Notifier, error)

func builders() map[string]builder {
	return map[string]builder{
		Desktop:  newDesktop,
		IMessage: newIMessage,
		Slack:    newSlack,
		Ntfy:     newNtfy,
		Pushover: newPushover,
		Telegram: newTelegram,
	}
}

func unknownDriver(driver string) error {
	if driver == "plugin" {
		return errors.New("notifier plugin: plugins are called through the hub, not as a built-in driver")
	}
	return fmt.Errorf("unknown notifier driver %.64q (%s)", driver, nearest.Suggest(driver, Drivers()))
}

// filled has a value in every field that has a default.
func (o Options) filled() Options {
	if o.Lookup == nil {
		o.Lookup = func(string) (string, bool) { return "", false }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.System == "" {
		o.System = runtime.GOOS
	}
	if o.wait == nil {
		o.wait = pause.For
	}
	return o
}
