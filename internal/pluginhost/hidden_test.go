package pluginhost

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestHidden: Hidden has the secrets of every source: the files, addresses and the environment.
// After the files are read again, it has the new ones.
func TestHidden(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "patchbay")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("config.toml", `
[server]
token = "the-server-token"
[engine]
url = "nats://me:in-the-address@127.0.0.1:1"
[[mcp]]
name = "far"
url = "http://127.0.0.1:1/"
headers = { Authorization = "Bearer ${FAR_KEY}" }
[plugins.far]
enabled = false
`)
	write("secrets.toml", "FAR_KEY = \"far-key\"\n[plugins.notes]\ninner = { key = \"deep-down\", pin = 123456 }\n")
	environ := []string{"HOME=" + home, "MY_API_TOKEN=from-the-environment", "EDITOR=vi"}
	h, err := Open(t.Context(), &Options{Environ: environ, Dir: home})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	before := h.Hidden()
	for _, want := range []string{"the-server-token", "in-the-address", "far-key", "deep-down", "123456", "from-the-environment"} {
		if !slices.Contains(before.Texts, want) {
			t.Errorf("%s is not among the secrets", want)
		}
	}
	if slices.Contains(before.Texts, "vi") {
		t.Error("a variable that is not a secret is among the secrets")
	}
	dirs, err := config.Locate(dialect.Env{Vars: environ}.Get, runtime.GOOS)
	if err != nil {
		t.Fatal(err)
	}
	if without := HiddenIn(dirs, nil, environ).Texts; !slices.Equal(slices.Sorted(slices.Values(without)), slices.Sorted(slices.Values(before.Texts))) {
		t.Errorf("without a host the secrets are %q, and with one %q", without, before.Texts)
	}
	write("secrets.toml", "FAR_KEY = \"another-key\"\n")
	if err := h.Reload(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if after := h.Hidden(); after == before || !slices.Contains(after.Texts, "another-key") || after != h.Hidden() {
		t.Errorf("after a reload: %v", len(after.Texts))
	}
}

// TestClean: secrets are found as they are written in addresses and headers. Of two that begin
// alike, the longer one is replaced.
func TestClean(t *testing.T) {
	h := Hidden{Texts: []string{"planted", "planted/key+1==", "short"}}
	for text, want := range map[string]string{
		"planted/key+1== planted short":                                         "[secret] [secret] short",
		"GET /?key=planted%2Fkey%2B1%3D%3D: refused":                            "GET /?key=[secret]: refused",
		"GET /planted%2Fkey+1==/x":                                              "GET /[secret]/x",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("planted/key+1==")): "Basic [secret]",
	} {
		if got := h.Clean(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestCleanTwice: lines of a log are cleaned when they are written, and again when they are read.
func TestCleanTwice(t *testing.T) {
	h := Hidden{Texts: []string{"secret"}}
	once := h.Clean("the secret")
	if twice := h.Clean(once); once != "the [secret]" || twice != once {
		t.Errorf("%s, then %s", once, twice)
	}
}

// TestCleanJSON: secrets are removed from strings, however they are written, and from nothing else.
func TestCleanJSON(t *testing.T) {
	h := Hidden{Texts: []string{"tre\"asure", "123456", "short"}}
	for data, want := range map[string]string{
		`{"a":"my tre\"asure","n":123456}`:                `{"a":"my [secret]","n":123456}`,
		`["\u0074re\"asure", "it said \"tre\\\"asure\""]`: `["[secret]", "it said \"[secret]\""]`,
		`{"123456":[1,{"b":"x 123456 y"}]}`:               `{"[secret]":[1,{"b":"x [secret] y"}]}`,
		`{"a":"nothing","b":["short",null]}`:              `{"a":"nothing","b":["short",null]}`,
		`"\\"`:                                            `"\\"`,
	} {
		if got := h.CleanJSON([]byte(data)); string(got) != want {
			t.Errorf("%s: %s, want %s", data, got, want)
		}
	}
}

// TestCleanWithoutSecrets: an event is not copied only to find out that it has no secret.
func TestCleanWithoutSecrets(t *testing.T) {
	h := Hidden{Texts: []string{"planted/key+1==", "hush-hush"}}
	data := []byte(`{"text":"` + strings.Repeat("The quick brown fox jumps over the lazy dog. ", 50) + `","a":["hush","a line"]}`)
	h.CleanJSON(data)
	if n := testing.AllocsPerRun(10, func() { h.CleanJSON(data); h.Clean("the plugin has ended") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
