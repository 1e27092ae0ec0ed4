package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

const secretsText = `
OPENAI_API_KEY = "hunter2"

[plugins.vault]
token = "hunter2"
port = 8200
`

// TestLoadSecrets: Lookup finds the names at the top of the file, and Plugin the tables of plugins.
func TestLoadSecrets(t *testing.T) {
	s, err := LoadSecrets(write(t, secretsText))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := s.Lookup("OPENAI_API_KEY"); !ok || v.Reveal() != "hunter2" {
		t.Errorf("got %q, %v", v.Reveal(), ok)
	}
	if _, ok := s.Lookup("plugins"); ok {
		t.Error("the plugins table is not a secret")
	}
	want := map[string]any{"token": "hunter2", "port": int64(8200)}
	if got := s.Plugin("vault").Reveal(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if got := s.Plugin("other").Reveal(); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestLoadSecretsWithoutFile(t *testing.T) {
	s, err := LoadSecrets(filepath.Join(t.TempDir(), "none.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Lookup("A"); ok {
		t.Error("a secret that no file has")
	}
	var none *Secrets
	if _, ok := none.Lookup("A"); ok || none.Plugin("a").Reveal() != nil {
		t.Error("nil must hold nothing")
	}
}

func TestLoadSecretsRefusesWhatOthersMayReach(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits have no effect on Windows")
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602, 0o666} {
		t.Run(mode.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "it's mine.toml")
			if err := os.WriteFile(path, []byte(secretsText), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			_, err := LoadSecrets(path)
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			want := "run: chmod 600 '" + strings.ReplaceAll(path, "'", `'\''`) + "'"
			if e.Problems[0].Fix != want {
				t.Errorf("got %q, want %q", e.Problems[0].Fix, want)
			}
		})
	}
}

func TestLoadSecretsNeverQuotesTheFile(t *testing.T) {
	for _, c := range []struct{ rule, text, want string }{
		{"a number", "A = 31337313373133731337\n", ":1:5: "},
		{"a whole number", "A = 3133731337\n", `:1:5: A: must be a string, got a whole number; put it into quotes: "…"`},
		{"no quotes", "A = sesame\n", ":1:5: not valid TOML"},
		{"no end", "A = \"sesame\n", ":1:"},
		{"a plugin that is text", "[plugins]\na = \"sesame\"\n", ":2:5: plugins.a: must be a table, got a string"},
		{"beyond JSON", "[plugins.a]\nb = inf\nc = \"sesame\"\n", ":1:10: plugins.a: +Inf has no counterpart in JSON"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			path := write(t, c.text)
			_, err := LoadSecrets(path)
			if err == nil || !strings.HasPrefix(err.Error(), path+c.want) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "31337") {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
}

func TestSecretNeverPrints(t *testing.T) {
	secret := NewSecret("hunter2")
	system := SystemConfig{values: func() map[string]any { return map[string]any{"token": "hunter2"} }}
	for name, v := range map[string]any{
		"Secret": secret, "SystemConfig": system,
		"in a struct": struct {
			A Secret
			B SystemConfig
		}{secret, system},
		"in a map":   map[string]Secret{"a": secret},
		"in a slice": []Secret{secret},
	} {
		t.Run(name, func(t *testing.T) {
			for how, text := range everyPrint(t, v) {
				if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
					t.Errorf("%s shows it: %s", how, text)
				}
				if !strings.Contains(text, redacted) {
					t.Errorf("%s does not say that it hides something: %s", how, text)
				}
			}
		})
	}
}

// TestSecretInUnexportedFieldNeverPrints: fmt prints unexported fields without calling their
// methods, and must find no text there.
func TestSecretInUnexportedFieldNeverPrints(t *testing.T) {
	s, err := LoadSecrets(write(t, secretsText))
	if err != nil {
		t.Fatal(err)
	}
	holder := struct {
		secret Secret
		all    *Secrets
		system SystemConfig
	}{NewSecret("hunter2"), s, s.Plugin("vault")}
	for _, v := range []any{holder, &holder, s, *s} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "hunter2") {
				t.Errorf("%s of %T shows it: %s", verb, v, text)
			}
		}
	}
}

// everyPrint prints v in every way that a program can.
func everyPrint(t *testing.T, v any) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%T %v"} {
		args := []any{v}
		if verb == "%T %v" {
			args = []any{v, v}
		}
		out[verb] = fmt.Sprintf(verb, args...)
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	asTOML, err := toml.Marshal(map[string]any{"v": v})
	if err != nil {
		t.Fatal(err)
	}
	out["json"], out["toml"] = string(asJSON), string(asTOML)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", v)
	out["slog text"] = log.String()
	log.Reset()
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v)
	out["slog json"] = log.String()
	return out
}

// FuzzSecrets: a secrets file is read, or the error has positions in the file. Neither quotes a
// secret.
func FuzzSecrets(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte(secretsText))
	f.Add([]byte("a = 1\nplugins = 2\n"))
	f.Add([]byte("[plugins.a]\nx = \"\"\"\n"))
	f.Add([]byte("A = [\n"))
	f.Add([]byte("[plugins]\n\"\" = {}\n[[plugins.b]]\n"))
	const secret = "hunter2-hunter2"
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append(slices.Clip(data), "\nZ_KEY = \""+secret+"\"\n"...)
		s, err := parseSecrets("f", data)
		if text := fmt.Sprintf("%v %+v %#v %v", s, s, s, err); strings.Contains(text, secret) {
			t.Fatalf("%q: the secret is in %s", data, text)
		}
		if err == nil {
			if s == nil {
				t.Fatal("neither secrets nor an error")
			}
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || len(e.Problems) == 0 {
			t.Fatalf("not an *Error with problems: %v", err)
		}
		for _, p := range e.Problems {
			if p.Message == "" || p.Line > bytes.Count(data, []byte("\n"))+1 {
				t.Fatalf("without a place: %+v", p)
			}
		}
	})
}
