package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// appName is the application name that desktops show.
const appName = "patchbay"

// desktopLimit bounds the body. Desktops show only a few lines.
const desktopLimit = 1000 // characters

// A card is a notification for a desktop to show.
type card struct {
	title, subtitle, body string

	sound    string // a name; "": see loud
	loud     *bool  // sound = true or false; nil: the desktop decides
	urgency  string // low | normal | critical; "": the desktop decides
	icon     string
	expireMS *int64 // 0: until it is clicked away; nil: the desktop decides
}

// A way is one method of showing a card.
type way struct {
	name    string
	address string // "" for a program
	show    func(ctx context.Context, c card) error
	reach   func(ctx context.Context) error
}

// desktop shows messages on the screen of the machine. It tries its ways in order until one works.
type desktop struct {
	ways  []way
	notes []string

	title, subtitle, sound, icon text
	urgency                      string
	loud                         *bool
	expireMS                     *int64
}

// newDesktop uses what the system offers: the session bus or else notify-send; osascript on macOS;
// PowerShell on Windows. Reach asks the bus which program shows notifications, or runs the program
// without an effect.
func newDesktop(s *settings) maker {
	d := &desktop{
		title: s.text("title"), subtitle: s.text("subtitle"), icon: s.text("icon"),
		urgency: s.oneOf("urgency", "low", "normal", "critical"), expireMS: s.number("expire_ms", 0, 24*60*60*1000),
	}
	d.readSound(s)
	return func(o Options) (Notifier, error) {
		p, err := newPrograms(s, o)
		if err != nil {
			return nil, err
		}
		return d, d.choose(s, o.System, p)
	}
}

// readSound reads `sound`, which is true, false or the name of a sound.
func (d *desktop) readSound(s *settings) {
	if s.Value("sound").Kind() == document.String {
		d.sound = s.text("sound")
		return
	}
	d.loud = s.Flag("sound")
}

// choose selects the ways of the system, and notes the settings that have no effect there.
func (d *desktop) choose(s *settings, system string, p programs) error {
	switch system {
	case "linux", "freebsd", "netbsd", "openbsd", "dragonfly", "illumos", "solaris":
		d.ways = append(buses(p), notifySend(p))
	case "darwin":
		d.ways = []way{appleScript(p)}
		d.notes = noEffectNotes(s, "macOS", "urgency", "icon", "expire_ms")
	case "windows":
		d.ways = []way{powerShell(p)}
		d.notes = noEffectNotes(s, "Windows", "urgency", "icon", "expire_ms")
	default:
		return fmt.Errorf("no desktop is known for %s: %w", system, errors.ErrUnsupported)
	}
	return nil
}

// noEffectNotes returns a note that lists those of the keys that are set.
func noEffectNotes(s *settings, system string, keys ...string) []string {
	var made []string
	for _, key := range keys {
		if s.Has(key) {
			made = append(made, key)
		}
	}
	if len(made) == 0 {
		return nil
	}
	return []string{strings.Join(made, ", ") + ": no effect on " + system}
}

func (d *desktop) Send(ctx context.Context, m Message) error {
	c := d.card(m, revealed)
	return d.each(func(w way) error { return w.show(ctx, c) })
}

func (d *desktop) Reach(ctx context.Context) error {
	return d.each(func(w way) error { return w.reach(ctx) })
}

// each tries the ways until one works.
func (d *desktop) each(try func(way) error) error {
	var failed []error
	for _, w := range d.ways {
		err := try(w)
		if err == nil {
			return nil
		}
		failed = append(failed, err)
		if errors.Is(err, context.Canceled) {
			break
		}
	}
	return fmt.Errorf("notifier %s: %w", Desktop, joinedErrors(failed))
}

// joinedErrors formats several errors on one line.
type joinedErrors []error

func (s joinedErrors) Error() string {
	var all []string
	for _, err := range s {
		all = append(all, err.Error())
	}
	return strings.Join(all, "; ")
}

func (s joinedErrors) Unwrap() []error { return s }

func (d *desktop) Describe(m Message) Preview {
	c := d.card(m, masked)
	lines := slices.DeleteFunc([]string{c.title, c.subtitle, c.body}, func(line string) bool { return line == "" })
	return Preview{
		Driver: Desktop, Method: d.ways[0].name, Address: d.ways[0].address,
		Body: strings.Join(lines, "\n"), Notes: d.notes,
	}
}

func (d *desktop) card(m Message, v view) card {
	headline, m := m.underTitle(d.title.in(v))
	return card{
		title: cut(headline, titleLimit, characters), subtitle: oneLine(d.subtitle.in(v)),
		body:  m.paragraphs(desktopLimit, characters),
		sound: oneLine(d.sound.in(v)), loud: d.loud, urgency: d.urgency, icon: d.icon.in(v), expireMS: d.expireMS,
	}
}

// soundName returns the name of the sound in the freedesktop sound theme, or "" for none.
func (c card) soundName() string {
	if c.sound == "" && c.loud != nil && *c.loud {
		return "message-new-instant"
	}
	return c.sound
}

// underSubtitle returns the subtitle and the body, for desktops that have no subtitle.
func (c card) underSubtitle() string {
	if c.subtitle == "" {
		return c.body
	}
	return strings.TrimSuffix(c.subtitle+"\n"+c.body, "\n")
}
