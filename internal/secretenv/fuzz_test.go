package secretenv

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzWithout: however a variable is spelled, the result does not contain it if children must not
// get it. The result has no more entries than before.
func FuzzWithout(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("PATH=/bin\nOPENAI_API_KEY=x\npatchbay_token=y")
	f.Add("=\n==\nPATCHBAY_\nPATCHBAY_=\nPATCHBAY_A/B=x\nOPENAI_API_\u212aEY=x")
	f.Fuzz(func(t *testing.T, text string) {
		environ := strings.Split(text, "\n")
		kept := Without(environ)
		for _, v := range kept {
			name, _, ok := strings.Cut(v, "=")
			if upper := strings.ToUpper(name); !ok || strings.HasPrefix(upper, "PATCHBAY_") || upper == "OPENAI_API_KEY" {
				t.Errorf("%q is kept", v)
			}
		}
		if len(kept) > len(environ) {
			t.Errorf("%q became %q", environ, kept)
		}
	})
}
