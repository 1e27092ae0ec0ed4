//go:build unix

package filestore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/internal/entry/entrytest"
)

const (
	// counterManifest and counter are a kaged plugin in shell. Its method counter.next appends an x
	// to the value of a key that is a path, and returns the value before.
	counterManifest = `name: counter
version: 1.0.0
kaged_api: 1
description: counts
command: ["./run"]
methods: [counter.next]
capabilities: ["kaged:storage:read", "kaged:storage:write"]
`
	counter = `#!/bin/sh
ask() { echo '{"jsonrpc":"2.0","id":"mine","method":"kaged.storage.'$1'","params":'$2'}'; IFS= read -r line; }
while IFS= read -r line; do
  id=${line##*'"id":'}; id=${id%%[!0-9]*}
  case $line in
  *'"initialized"'*) continue ;;
  *'"initialize"'*) r='{"name":"counter","version":"1.0.0","api_version":1,"methods":["counter.next"],"notifications":[],"capabilities_used":[]}' ;;
  *counter.next*)
    next=$id
    ask get '{"key":"../count"}'
    was=; case $line in *'"value":"'*) was=${line##*'"value":"'}; was=${was%%'"'*} ;; esac
    ask put '{"key":"../count","value":"'$was'x"}'
    id=$next; r='"'$was'"'; case $line in *'"error"'*) r='"refused"' ;; esac ;;
  *) r='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`
)

// TestAPluginFindsWhatItStored: another host on the same directory returns the values that a plugin
// stored.
func TestAPluginFindsWhatItStored(t *testing.T) {
	plugins := t.TempDir()
	if err := os.Mkdir(filepath.Join(plugins, "counter"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(plugins, "counter", "manifest.yaml"), counterManifest)
	run := filepath.Join(plugins, "counter", "run")
	write(t, run, counter)
	if err := os.Chmod(run, 0o755); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	for _, want := range []string{`""`, `"x"`, `"xx"`} {
		store := New(data)
		host, err := patchbay.Open(t.Context(), &patchbay.Options{Dirs: []string{plugins}, Storage: store.Plugin})
		if err != nil {
			t.Fatal(err)
		}
		got, err := host.CallMethod(t.Context(), "counter", "counter.next", nil)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	}
	entrytest.WantValue(t, New(data).Plugin("counter", patchbay.StorageQuota{}), "../count", `"xxx"`)
}
