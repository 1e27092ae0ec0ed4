package daemon

import (
	"strings"
	"testing"
)

// TestUseModel checks that the chosen model answers, that a reload keeps it, and that a model that
// cannot be opened changes nothing.
func TestUseModel(t *testing.T) {
	h := newTestHome(t)
	o := h.options()
	o.Host.Environ = append(o.Host.Environ, "OPENAI_API_KEY=k")
	o.Script = h.write("script.yaml", "- text: hi\n")
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close(c)
	for name, problem := range map[string]string{"nobody:x": "unknown model provider", "anthropic:x": "no key", "openai:": "has no name"} {
		if err := c.UseModel(name); err == nil || !strings.Contains(err.Error(), problem) || !c.Model().Info().Offline {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.UseModel("openai:m"); err != nil {
		t.Fatal(err)
	}
	if err := c.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info := c.Model().Info(); info.Provider != "openai" || info.Name != "m" {
		t.Errorf("%+v", info)
	}
	turns := make(chan struct{})
	go func() { // what a turn reads while the user chooses a model; the race detector would report it
		defer close(turns)
		for range 100 {
			c.Instructions(h.home)
		}
	}()
	if err := c.UseModel("offline"); err != nil || !c.Model().Info().Offline {
		t.Errorf("%v, %+v", err, c.Model().Info())
	}
	<-turns
}
