package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestSubscriptionsAreLimited: a subscription over the limit is an error. The others stay, and the
// end of one makes room.
func TestSubscriptionsAreLimited(t *testing.T) {
	p := newPlugin(&Server{}, dialect.Settings{}, &dialect.Runtime{})
	defer p.end()
	for i := range mostSubscribed {
		if err := p.addSubscribed(fmt.Sprint("memo://", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.addSubscribed("memo://more"); err == nil || !strings.Contains(err.Error(), "unsubscribe from one first") {
		t.Errorf("error %v", err)
	}
	if err := p.addSubscribed("memo://1"); err != nil || !p.subscribed["memo://1"] {
		t.Errorf("a resource that is subscribed to: %v", err)
	}
	p.removeSubscribed("memo://1")
	if err := p.addSubscribed("memo://more"); err != nil {
		t.Error(err)
	}
}
