package notify

import (
	"cmp"
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

// The built-in drivers. A manifest may also have the driver "plugin", which the host calls.
const (
	Desktop  = "desktop"
	IMessage = "imessage"
	Slack    = "slack"
	Ntfy     = "ntfy"
	Pushover = "pushover"
	Telegram = "telegram"
)

// Drivers returns the names of the built-in drivers.
func Drivers() []string {
	return []string{Desktop, IMessage, Slack, Ntfy, Pushover, Telegram}
}

// A Sender sends messages to a person or a plugin. It is safe for concurrent use.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// A Notifier is one configured way to send messages. It is safe for concurrent use, and nothing
// that it returns contains a secret.
type Notifier interface {
	Sender
	// Describe returns what Send would send. It does no I/O.
	Describe(m Message) Preview
	// Reach checks whether a message could be sent, without sending one. How much it can check
	// depends on the driver: see newSlack, newNtfy and so on.
	Reach(ctx context.Context) error
}

// A Preview shows what a notifier would send, with *** for every secret.
type Preview struct {
	Driver  string   `json:"driver"`
	Method  string   `json:"method"`            // POST, or the program or bus that is used
	Address string   `json:"address,omitempty"` // a URL or a name on the bus
	Body    string   `json:"body"`
	Notes   []string `json:"notes,omitempty"` // settings that have no effect on this system
}

// Options are common to all notifiers. With the zero value there are no variables and no programs.
type Options struct {
	// Lookup returns the value of a variable ${NAME} in a setting: from the secrets, or else from
	// the environment. If it is nil, no variable is known.
	Lookup func(name string) (string, bool)
	HTTP   *http.Client // nil: a default one; its redirect policy is replaced
	Procs  *proc.Group  // runs the programs of desktop and imessage, which need it
	Logger *slog.Logger // nil discards

	// Environ is the environment from which programs and the session bus get a few variables. nil:
	// the host's environment.
	Environ []string
	System  string // the system whose programs are used: "linux", "darwin", "windows"; "": runtime.GOOS

	wait func(ctx context.Context, d time.Duration) error // waits between two tries; nil: pause.For. Tests replace it
}

// New makes a notifier from a manifest's [[notifiers]] entry. settings are the driver's own keys as
// TOML or JSON values. The keys driver, events, rate_limit_minutes and timeout_seconds may be among
// them; the caller handles those. New does no I/O.
//
// If the settings are wrong, the error is a [*SettingsError] with every problem. If this system
// cannot have the driver, the error is [errors.ErrUnsupported]: the manifest is correct, but not
// for this machine.
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

// A builder reads the settings of a driver and returns a function that makes a notifier from them.
// The settings of a driver are listed only there. Problems with settings are recorded in s; the
// error of the maker is for problems that no setting can fix.
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
		return errors.New("notifier plugin: it is not a built-in driver: the host calls plugins")
	}
	return fmt.Errorf("unknown notifier driver %.64q (%s)", driver, nearest.Suggest(driver, Drivers()))
}

// filled returns the options with a value in every field that has a default.
func (o Options) filled() Options {
	if o.Lookup == nil {
		o.Lookup = func(string) (string, bool) { return "", false }
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.System == "" {
		o.System = runtime.GOOS
	}
	if o.wait == nil {
		o.wait = pause.For
	}
	return o
}
