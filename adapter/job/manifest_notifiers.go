package job

import (
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/notify"
)

// drivers are the names of all drivers, for messages.
var drivers = append(notify.Drivers(), string(DriverPlugin))

func readNotifiers(top *document.Table, s Security) []Notifier {
	const list = "notifiers"
	tables := top.Tables(list)
	notifiers := make([]Notifier, 0, len(tables))
	for i, t := range tables {
		n := readNotifier(t, s)
		n.At = placeOf(top, list, i)
		notifiers = append(notifiers, n)
	}
	return notifiers
}

func readNotifier(t *document.Table, s Security) Notifier {
	n := Notifier{
		Driver:    Driver(t.Required("driver")),
		Events:    readEvents(t, "events"),
		RateLimit: readMinutes(t, "rate_limit_minutes"),
	}
	if !slices.Contains(drivers, string(n.Driver)) {
		if n.Driver != "" {
			t.Bad("driver", nearest.Suggest(string(n.Driver), drivers), "%q is not a driver", document.Cut(string(n.Driver)))
		}
		return n // the other keys depend on the driver, so they cannot be checked
	}
	n.Timeout = readNotifierTimeout(t, n.Driver)
	warnOfUnsentEvents(t, "events", n.Events)
	n.Settings = readSettings(t, n.Driver, s)
	t.End()
	return n
}

// readNotifierTimeout reads how long a plugin may take. The other drivers have fixed limits.
func readNotifierTimeout(t *document.Table, d Driver) time.Duration {
	const key = "timeout_seconds"
	timeout := readSeconds(t, key, 0)
	if timeout != 0 && d != DriverPlugin {
		t.Warn(key, "remove it", "it has no effect on the driver %s, which has its own limit", d)
		return 0
	}
	return timeout
}

// readSettings reads the driver's own keys. Package notify knows those of the built-in drivers; a
// plugin has a name and a config.
func readSettings(t *document.Table, d Driver, s Security) map[string]any {
	if d != DriverPlugin {
		return notify.Read(string(d), t)
	}
	settings := map[string]any{"name": readPlugin(t, "name", s), "config": map[string]any{}}
	if config := t.Free("config"); config != nil {
		settings["config"] = config
	}
	return settings
}
