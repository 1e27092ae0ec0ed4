package daemon

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzCode checks that codeOf returns a part of the model's answer that is not blank and ends with
// one newline, or an error.
func FuzzCode(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"```python\nx = 1\n```", "a\n```\nshort\n```\n```py\nlonger code\n```", "no fence", "```python\nopen", "", " \n", "```\n\n```", "```py\n```\n```"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, err := codeOf(text)
		if err != nil {
			if code != "" {
				t.Errorf("%q: code %q and the error %v", text, code, err)
			}
			return
		}
		body := strings.TrimSuffix(code, "\n")
		if strings.TrimSpace(body) != body || body == "" || !strings.Contains(text, body) {
			t.Errorf("%q has the code %q", text, code)
		}
	})
}
