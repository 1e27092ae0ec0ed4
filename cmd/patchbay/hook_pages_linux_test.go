package main

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestPagesOfHosts types the commands in the guides of docs/hosts: installing, a refused and a
// rewritten command, and uninstalling.
func TestPagesOfHosts(t *testing.T) {
	for _, agent := range codehook.Agents() {
		t.Run(string(agent), func(t *testing.T) {
			t.Parallel()
			h := newHookHome(t)
			page := plugtest.Page(t, "docs/hosts/"+string(agent)+".md")
			page.Type(h.home, patchbayIn(h.home).Env, strings.NewReplacer(h.home, "~"))
		})
	}
}
