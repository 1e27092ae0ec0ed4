package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// The names of the Desktop Notifications Specification, version 1.2.
const (
	busName   = "org.freedesktop.Notifications"
	busPath   = "/org/freedesktop/Notifications"
	busNotify = busName + ".Notify"
	busAbout  = busName + ".GetServerInformation"
	busCan    = busName + ".GetCapabilities"
)

// busTimeout is for a desktop that does not answer. An answer normally takes milliseconds.
const busTimeout = 5 * time.Second

// buses returns the ways that use a bus.
func buses(p programs) []way { return []way{sessionBus(p)} }

// sessionBus calls the desktop directly. It starts no process, and every setting has an effect.
func sessionBus(p programs) way {
	return way{
		name: "D-Bus", address: busName,
		show: func(ctx context.Context, c card) error {
			return onBus(ctx, p, func(ctx context.Context, desktop dbus.BusObject) error { return notifyOnBus(ctx, desktop, c) })
		},
		reach: func(ctx context.Context) error {
			return onBus(ctx, p, func(ctx context.Context, desktop dbus.BusObject) error {
				return desktop.CallWithContext(ctx, busAbout, 0).Err
			})
		},
	}
}

// onBus opens a connection to the session bus, calls talk, and closes the connection.
func onBus(ctx context.Context, p programs, talk func(context.Context, dbus.BusObject) error) error {
	address, err := busAddress(p)
	if err != nil {
		return fmt.Errorf("session bus: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	conn, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("session bus: %w", cmp.Or(ctx.Err(), err)) // the end of ctx also breaks the connection
	}
	err = talk(ctx, conn.Object(busName, busPath))
	closed := conn.Close()
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("session bus: %w", ctx.Err())
	case err != nil:
		return fmt.Errorf("session bus: %s", p.secrets.scrub(err.Error()))
	case closed != nil:
		return fmt.Errorf("session bus: %w", closed)
	}
	return nil
}

// busAddress returns the address of the session bus. It accepts only Unix sockets: the other
// transports may block forever or start programs.
func busAddress(p programs) (string, error) {
	for address := range strings.SplitSeq(p.getenv("DBUS_SESSION_BUS_ADDRESS"), ";") {
		if strings.HasPrefix(address, "unix:") {
			return address, nil
		}
	}
	dir := p.getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return "", errors.New("neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set")
	}
	path := filepath.Join(dir, "bus") // where systemd puts it
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	return "unix:path=" + dbus.EscapeBusAddressValue(path), nil
}

// notifySendError returns why notify-send cannot reach a desktop, or nil if it may reach one.
// Running notify-send --version does not show that: it succeeds without a desktop. notify-send
// needs a session bus, but finds more buses than [busAddress]: those of other transports, and the
// one that belongs to a display.
func notifySendError(p programs) error {
	if _, err := busAddress(p); err == nil {
		return errors.New("it uses the same session bus")
	}
	if p.getenv("DBUS_SESSION_BUS_ADDRESS") == "" && p.getenv("DISPLAY") == "" {
		return errors.New("there is no desktop: neither DBUS_SESSION_BUS_ADDRESS nor DISPLAY is set")
	}
	return nil
}

func notifyOnBus(ctx context.Context, desktop dbus.BusObject, c card) error {
	var can []string
	if err := desktop.CallWithContext(ctx, busCan, 0).Store(&can); err != nil {
		return err
	}
	body := c.underSubtitle()
	if slices.Contains(can, "body-markup") {
		body = html.EscapeString(body)
	}
	expire := int32(-1) // the desktop decides
	if c.expireMS != nil {
		expire = int32(*c.expireMS)
	}
	return desktop.CallWithContext(ctx, busNotify, 0,
		appName, uint32(0), c.icon, c.title, body, []string{}, c.hints(), expire).Err
}

// hints returns the hints of the specification that the card needs.
func (c card) hints() map[string]dbus.Variant {
	hints := map[string]dbus.Variant{}
	if i := slices.Index([]string{"low", "normal", "critical"}, c.urgency); i >= 0 {
		hints["urgency"] = dbus.MakeVariant(byte(i))
	}
	switch {
	case c.soundName() != "":
		hints["sound-name"] = dbus.MakeVariant(c.soundName())
	case c.loud != nil: // loud is false, because a card with loud = true has a sound name
		hints["suppress-sound"] = dbus.MakeVariant(true)
	}
	return hints
}
