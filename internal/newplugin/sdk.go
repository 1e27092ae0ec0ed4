package newplugin

import (
	_ "embed"
	"fmt"

	"github.com/rogpeppe/go-internal/txtar"
)

// The copies of the SDKs. The SDK for Go is its own module, which cannot be embedded from here.
// `make sdk-copy` renews the copies, and TestSDKCopies compares them with the originals.
var (
	//go:embed _sdk/go.txtar
	goSDK string
	//go:embed _sdk/patchbay_plugin.py
	pythonSDKText string
	//go:embed _sdk/patchbay_plugintest.py
	pythonHarnessText string
)

// The names of the SDKs beside a plugin.
const (
	goSDKDir      = "patchbay-sdk"
	goSDKModule   = "github.com/patchbay-dev/patchbay/sdk/go"
	pythonSDK     = "patchbay_plugin.py"
	pythonHarness = "patchbay_plugintest.py"
)

// usesSDK reports whether the template of a pair is written with an SDK.
func usesSDK(r Request) bool {
	return r.Language == golang || r.Language == python && r.Dialect != "python"
}

// sdkFiles returns the files of the SDK that a plugin is written with.
func sdkFiles(r Request) []File {
	switch {
	case !usesSDK(r):
		return nil
	case r.Language == python:
		return []File{{pythonSDK, pythonSDKText, 0o644}, {pythonHarness, pythonHarnessText, 0o644}}
	}
	return unpack(goSDK)
}

// unpack reads the copy of the Go SDK.
func unpack(archive string) []File {
	var out []File
	for _, f := range txtar.Parse([]byte(archive)).Files {
		out = append(out, File{goSDKDir + "/" + f.Name, string(f.Data), 0o644})
	}
	return out
}

// goMod returns the go.mod of a Go plugin. It refers to the SDK beside it.
func goMod(r Request) string {
	return fmt.Sprintf(`module %s

go 1.26

require %[2]s v0.0.0

replace %[2]s => ./%[3]s
`, r.Name, goSDKModule, goSDKDir)
}
