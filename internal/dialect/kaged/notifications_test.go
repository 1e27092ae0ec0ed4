package kaged

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func newNotifications(declared ...string) (*notifications, *bytes.Buffer) {
	var log bytes.Buffer
	return &notifications{log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})),
		declared: declared}, &log
}

func TestADeclaredNotificationIsKeptAndLogged(t *testing.T) {
	n, log := newNotifications("clock.tick")
	n.take("clock.tick", json.RawMessage(`{"n":1}`))
	all := n.all()
	if len(all) != 1 || all[0].Method != "clock.tick" || string(all[0].Params) != `{"n":1}` || !all[0].Declared {
		t.Errorf("kept %+v", all)
	}
	if !strings.Contains(log.String(), "level=INFO") || !strings.Contains(log.String(), "clock.tick") {
		t.Errorf("log %s", log)
	}
}

func TestAnUndeclaredNotificationIsOneWarning(t *testing.T) {
	n, log := newNotifications("clock.tick")
	for range 5 {
		n.take("clock.tock", nil)
	}
	if got := strings.Count(log.String(), "level=WARN"); got != 1 {
		t.Errorf("%d warnings: %s", got, log)
	}
	if all := n.all(); len(all) != 5 || all[0].Declared {
		t.Errorf("kept %+v", all)
	}
}

func TestOnlyTheLastNotificationsAreKept(t *testing.T) {
	n, _ := newNotifications("a.b")
	for i := range keptNotifications + 7 {
		n.take("a.b", json.RawMessage(fmt.Sprint(i)))
	}
	all := n.all()
	if len(all) != keptNotifications || string(all[0].Params) != "7" {
		t.Errorf("%d kept, the first %q", len(all), all[0].Params)
	}
}

func TestAPluginCannotFillTheMemoryWithNotifications(t *testing.T) {
	n, _ := newNotifications()
	for i := range 10 * warnedNames {
		n.take(fmt.Sprintf("name.%d", i)+strings.Repeat("x", 10000), json.RawMessage(`"`+strings.Repeat("y", 10000)+`"`))
	}
	size := 0
	for _, one := range n.all() {
		size += len(one.Method) + len(one.Params)
	}
	for name := range n.warned {
		size += len(name)
	}
	if most := keptNotifications*(keptName+keptParams+10) + warnedNames*(keptName+10); size > most {
		t.Errorf("%d bytes kept, over %d", size, most)
	}
}

func TestDroppedNotificationsAreCountedAndReported(t *testing.T) {
	n, log := newNotifications()
	n.drop(40)
	n.drop(2)
	if n.dropped.Load() != 42 || strings.Count(log.String(), "level=WARN") != 2 || !strings.Contains(log.String(), "total=42") {
		t.Errorf("dropped %d, log %s", n.dropped.Load(), log)
	}
}
