package kaged

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// TestSeedMessages: every message of the document's table is sent, and initialize has the params
// and reads the answer that the table lists.
func TestSeedMessages(t *testing.T) {
	rows := plugtest.Seed(t, "002").Rows("JSON-RPC Protocol")
	r := newRig(t, "echo", "")
	r.manifest().HealthInterval = 10 * time.Millisecond
	p, err := r.dialect.Open(t.Context(), r.found, dialect.Settings{}, r.runtime)
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "health was checked", func() bool { return r.count("health.check") > 0 })
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if r.count(row.Name) == 0 {
			t.Errorf("%s was never sent", row.Name)
		}
	}
	sent, answered, ok := strings.Cut(rows[0].Text, "Plugin responds with ")
	if !ok || rows[0].Name != "initialize" {
		t.Fatalf("the first row is %+v", rows[0])
	}
	_, sent, _ = strings.Cut(sent, "initialize request with ")
	params := string(r.received()[0].Params)
	for _, name := range names(sent) {
		if !strings.Contains(params, `"`+name+`":`) {
			t.Errorf("initialize has no %s: %s", name, params)
		}
	}
	welcome := (&fake{}).welcome()
	for _, name := range names(answered) {
		if _, ok := welcome[name]; !ok {
			t.Errorf("the fake's answer has no %s", name)
		}
	}
}

// names returns the words of a list in prose.
func names(list string) []string {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '.' || r == ' ' })
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// TestSeedHooks: the hooks that the document allows are the ones that this package has.
func TestSeedHooks(t *testing.T) {
	for _, row := range plugtest.Seed(t, "002").Rows("Plugin Manifest") {
		if row.Name != "hooks" {
			continue
		}
		for i := range native {
			if !strings.Contains(row.Text, `"`+native[i].hook+`"`) {
				t.Errorf("%s is not in the document", native[i].hook)
			}
		}
		if n := strings.Count(row.Text, ` | "`) + 1; n != len(native) {
			t.Errorf("the document allows %d hooks, this package has %d", n, len(native))
		}
		return
	}
	t.Error("the document has no row hooks")
}

// TestSeedLimits: the limits are the numbers in the document.
func TestSeedLimits(t *testing.T) {
	text := plugtest.Seed(t, "002").Text
	if !strings.Contains(text, "Max message size: 4 MB. Notification rate limit: 100/sec.") || maxMessage != 4<<20 || notifyRate != 100 {
		t.Errorf("%d bytes, %d a second", maxMessage, notifyRate)
	}
	if !strings.Contains(text, "Plugin must respond within 5 seconds") || healthTimeout != 5*time.Second {
		t.Errorf("health: %s", healthTimeout)
	}
}

// TestSeedCapabilities: every form of capability that the document lists can be parsed.
func TestSeedCapabilities(t *testing.T) {
	fill := strings.NewReplacer("<path>", "/srv/data", "<binary>", "git", "<host>", "example.org", "<port>", "443")
	rows := plugtest.Seed(t, "002").Rows("Capabilities")
	for _, row := range rows {
		text := fill.Replace(row.Name)
		c, err := capability.Parse(text)
		if err != nil || c.String() != text {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
	if len(rows) != 9 {
		t.Errorf("%d forms in the document", len(rows))
	}
}
