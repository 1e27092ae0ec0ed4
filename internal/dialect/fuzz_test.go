package dialect

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// FuzzText: any JSON that a plugin sends can be passed on as a string, and be shortened for
// display.
func FuzzText(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{``, `null`, `"a"`, `{"a":"\n"}`, ` 7 `, "\"\xff\"", `"日本語"`, `"\ud800"`} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, raw []byte, most int) {
		most = max(most%1000, 0)
		if got := excerpt.Of(raw, most); !utf8.ValidString(got) || len(got) > 3*most+len("…") { // a byte may become U+FFFD, which has three bytes
			t.Errorf("%q cut to %d is %q", raw, most, got)
		}
		if rawjson.Check(raw) != nil {
			return
		}
		raw = rawjson.Clean(raw)
		var text string
		if err := json.Unmarshal(AsText(raw), &text); err != nil || text != Plain(raw) {
			t.Errorf("%s as text is %s, plainly %q: %v", raw, AsText(raw), Plain(raw), err)
		}
	})
}

// FuzzPick: a plugin gets no variable of the host that is not listed by name or pattern.
func FuzzPick(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("PATH\nGIT_*", "PATH=/bin\nGIT_DIR=x\nSECRET=y\nGIT_=\n=odd\nPATH=/usr/bin")
	f.Add("[\n*]\n\\", "[=1\nA=B=C\nno value")
	f.Add("", "=\n")
	f.Fuzz(func(t *testing.T, patterns, vars string) {
		wanted := strings.Split(patterns, "\n")
		env := Env{Vars: strings.Split(vars, "\n")}
		picked := env.Pick(wanted)
		for i, v := range picked {
			name, value, ok := strings.Cut(v, "=")
			if !ok || value != env.Get(name) || i > 0 && picked[i-1] >= v {
				t.Errorf("picked %q", picked)
			}
			if !slices.ContainsFunc(wanted, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil }) {
				t.Errorf("%q is not listed: %q", v, wanted)
			}
		}
	})
}
