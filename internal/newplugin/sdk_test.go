package newplugin

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// make sdk-copy sets it.
var update = flag.Bool("update", false, "renew the copies of the SDKs")

// TestSDKCopies: the copies equal the SDKs.
func TestSDKCopies(t *testing.T) {
	for file, want := range map[string]string{
		"_sdk/go.txtar":               string(txtar.Format(&txtar.Archive{Comment: []byte("The SDK for Go, copied by make sdk-copy.\n"), Files: goFiles(t)})),
		"_sdk/patchbay_plugin.py":     original(t, "python/patchbay_plugin.py"),
		"_sdk/patchbay_plugintest.py": original(t, "python/patchbay_plugintest.py"),
	} {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s differs from the SDK (%v): make sdk-copy renews it", file, err)
		}
	}
}

func original(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../sdk", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// goFiles returns the files of the Go SDK that a plugin and its tests need.
func goFiles(t *testing.T) []txtar.File {
	t.Helper()
	var out []txtar.File
	root := filepath.FromSlash("../../sdk/go")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "internal"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"), name == "go.mod", name == "LICENSE":
			out = append(out, txtar.File{Name: name, Data: []byte(original(t, "go/"+name))})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
