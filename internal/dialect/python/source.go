package python

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// bootstrap reads the package from stdin and runs it.
//
//go:embed runner/bootstrap.py
var bootstrap string

//go:embed runner/plugins/*.py
var sources embed.FS

// parcel is the runner's package as the bootstrap reads it: its length in eight hex digits, then an
// object of module names and sources.
var parcel = sync.OnceValue(func() []byte {
	modules, err := readModules()
	if err != nil {
		panic("embedded files: " + err.Error()) // they are part of this binary
	}
	text, err := json.Marshal(modules)
	if err != nil {
		panic("embedded files: " + err.Error())
	}
	return append(fmt.Appendf(nil, "%08x", len(text)), text...)
})

func readModules() (map[string]string, error) {
	const root = "runner"
	modules := make(map[string]string)
	return modules, fs.WalkDir(sources, root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(file)
		module := strings.TrimSuffix(strings.TrimPrefix(file, root+"/"), path.Ext(file))
		modules[strings.ReplaceAll(module, "/", ".")] = string(text)
		return err
	})
}
