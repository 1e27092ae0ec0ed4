package dotagent

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestATableOfSecrets: a dotagent plugin does not get it, which is a warning.
func TestATableOfSecrets(t *testing.T) {
	r := newRig(t)
	script(t, r.home, "plain", "#!/bin/sh\necho '{\"api\":1,\"name\":\"plain\",\"version\":\"1\",\"kinds\":[\"sink\"]}'\n")
	r.settings.SystemConfig = []byte(`{"token":"x"}`)
	var noted []dialect.Problem
	r.rt.Note = func(p dialect.Problem, _ bool) { noted = append(noted, p) }
	_, err := r.try()
	if len(noted) == 0 || noted[0].Message != "[plugins.plain] in the secrets file has no effect: dotagent plugins do not get it" || !strings.Contains(noted[0].Fix, "${NAME}") {
		t.Errorf("%+v, %v", noted, err)
	}
}
