package daemon

import (
	"strings"
	"testing"
)

// FuzzCode takes the code out of a model's answer: a part of the answer that is not blank and ends
// in one line end, or an error.
func FuzzCode(f *testing.F) {
	for _, seed := range []string{"```python\nx = 1\n```", "a\n```\nshort\n```\n```py\nlonger code\n```", "no fence", "```python\nopen", "", " \n", "```\n\n```", "```py\n```\n```"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, err := codeOf(text)
		if err != nil {
			if code != "" {
				t.Errorf("%q: %q beside %v", text, code, err)
			}
			return
		}
		body := strings.TrimSuffix(code, "\n")
		if strings.TrimSpace(body) != body || body == "" || !strings.Contains(text, body) {
			t.Errorf("%q has the code %q", text, code)
		}
	})
}
