package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// appName is who a desktop says it is from.
const appName = "patchbay"

// desktopLimit is ours. Desktops show a few lines.
const desktopLimit = 1000 // characters

// A card is what a desktop is asked to show.
type card struct {
	title, subtitle, body string

	sound    string // a name; "": see loud
	loud     *bool  // sound = true or false; nil: as the desktop likes
	urgency  string // low | normal | critical; "": as the desktop likes
	icon     string
	expireMS *int64 // 0: until it is clicked away; nil: as the desktop likes
}

// A way is one means of showing a card.
type way struct {
	name    string
	address string // "": a program has none
	show    func(ctx context.Context, c card) error
	reach   func(ctx context.Context) error
}

// desktop shows messages on the screen of the machine. Its ways are tried in order until one works.
type desktop struct {
	ways  []way
	notes []string

	title, subtitle, sound, icon text
	urgency                      string
	loud                         *bool
	expireMS                     *int64
}

// newDesktop uses what the system has: the session bus, or else notify-send, where there is one;
// osascript on macOS; PowerShell on Windows. Reach asks the bus who shows notifications, or runs
// the program to no effect.
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

// readSound takes true and false, and a sound's name.
func (d *desktop) readSound(s *settings) {
	if s.Value("sound").Kind() == document.String {
		d.sound = s.text("sound")
		return
	}
	d.loud = s.Flag("sound")
}

// choose finds the system's ways, and which of the settings mean nothing to them.
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
		return fmt.Errorf("there is no desktop known on %s: %w", system, errors.ErrUnsupported)
	}
	return nil
}

// noEffectNotes says which of the settings that were made have no effect.
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

// joinedErrors are errors of which each is a reason, on one line.
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

// soundName is the sound asked for, in the names of the freedesktop sound theme; "" where none is.
func (c card) soundName() string {
	if c.sound == "" && c.loud != nil && *c.loud {
		return "message-new-instant"
	}
	return c.sound
}

// underSubtitle is the body below the subtitle, for desktops that know of none.
func (c card) underSubtitle() string {
	if c.subtitle == "" {
		return c.body
	}
	return strings.TrimSuffix(c.subtitle+"\n"+c.body, "\n")
}
