package filestore

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/entry"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzKeyName: every key has a name that is safe on every file system, and no two keys have the
// same name.
func FuzzKeyName(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"a", "../A\x00é.", strings.Repeat("%", 200), "k-%2e.json", "NUL", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := keyName(text)
		if len(name) > maxName || filepath.Base(name) != name || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.%") != "" {
			t.Fatalf("not a safe name: %q", name)
		}
		if got, ok := keyFromName(name); text != "" && !isHashed(name) && (!ok || got != text) {
			t.Fatalf("%q became %q", text, got)
		}
		if got, ok := keyFromName(text); ok && keyName(got) != text {
			t.Fatalf("%q is taken for the file of %q, whose file is %q", text, got, keyName(got))
		}
	})
}

// FuzzFile checks that a file that was written is read back unchanged, and that any other bytes
// yield a short error or a valid value.
func FuzzFile(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("a", []byte("1"))
	f.Add("a\n\"é\x01", []byte("{\"a\": 1}\n"))
	f.Add("a", encode("a", json.RawMessage(`"v"`)))
	f.Add("a", []byte("\"a\" 00000000\n"))
	f.Add("", []byte("\"\xff\" 00000000\n1"))
	f.Fuzz(func(t *testing.T, key string, data []byte) {
		value, err := decode(data, key)
		if err == nil && (entry.CheckKey(key) != nil || entry.CheckValue(value) != nil || !bytes.HasSuffix(data, value)) {
			t.Errorf("decoded %q from %q", value, data)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("a long error: %v", err)
		}
		if entry.CheckKey(key) != nil || entry.CheckValue(data) != nil {
			return
		}
		content := encode(key, data)
		if value, err := decode(content, key); err != nil || !bytes.Equal(value, data) {
			t.Errorf("%q became %q, %v", data, value, err)
		}
		if len(content) != headLen(key)+len(data) || headLen(key) > maxHead {
			t.Errorf("%d bytes for a first line of %d", len(content), headLen(key))
		}
	})
}

// FuzzRecord: a record that decodeRecord accepts has no negative numbers, and is the same after it
// was written and read again.
func FuzzRecord(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"", `{"bytes":1,"keys":2,"changed":3}`, `{"bytes":-1}`, `{"keys":1e99}`, `null`, `{"bytes":1`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, ok := decodeRecord(data)
		if !ok {
			return
		}
		again, err := json.Marshal(r)
		if back, ok := decodeRecord(again); err != nil || !ok || back != r || r.Bytes < 0 || r.Keys < 0 || len(again) > maxRecord {
			t.Errorf("%s became %s, %v", data, again, err)
		}
	})
}
