package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzDiagnose: for a file with any content the diagnosis ends, and gives a reason of bounded
// length.
func FuzzDiagnose(tf *testing.F) {
	f := variants.Of(tf)
	self, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	elf := Head(self) // its header and the first of its segments
	for _, content := range [][]byte{
		nil, []byte("#!/bin/sh\n"), []byte("#!/no/such/interpreter\n"), []byte("#!/usr/bin/env no-such-program\n"), []byte("#!/bin/sh\r\n"), []byte("#!"),
		[]byte("\x7fELF"), elf, elf[:min(len(elf), 64)], []byte("MZ\x90\x00"), []byte("\xcf\xfa\xed\xfe"), []byte("echo hello\n"), []byte("\xef\xbb\xbf#!/bin/sh\n"),
	} {
		f.Add(content)
	}
	file := filepath.Join(f.TempDir(), "program")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(file, content, 0o700); err != nil {
			t.Fatal(err)
		}
		e := Diagnose(file, []string{"PATH=/nowhere"}, nil)
		const words = 500
		if e.Path != file || e.Why == "" || len(e.Why)+len(e.Fix) > 2*(headSize+maxLoader)+2*len(file)+words {
			t.Errorf("%q: %d bytes: %v, %q", content, len(e.Why)+len(e.Fix), e, e.Fix)
		}
	})
}

// FuzzShim: a file in a directory of shims is a shim only if it has all lines of one. Then its
// parts are absolute paths and single words.
func FuzzShim(tf *testing.F) {
	f := variants.Of(tf)
	const shim = "#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\nexport PYENV_ROOT=\"/home/me/.pyenv\"\n" +
		"exec \"/home/me/.pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n"
	for _, text := range []string{
		shim, strings.ReplaceAll(shim, `"`, `'`), strings.Replace(shim, "set -e", "export PYENV_DIR=\"${arg%/*}\"", 1), strings.Replace(shim, "/home/me/.pyenv\"\n", "relative\"\n", 1),
		"", "export XENV_ROOT=/a\nexec /b/xenv exec \"$program\" \"$@\"", strings.Repeat("#", maxShim) + shim,
	} {
		f.Add(text)
	}
	file := filepath.Join(f.TempDir(), "shims", "python3")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		tool, ok := readShim(shimUse{shim: file, args: []string{"script/x.py"}, dir: filepath.Dir(file)})
		if !ok {
			return
		}
		if len(text) > maxShim || !strings.HasPrefix(tool.path, "/") || !strings.HasPrefix(tool.root, "/") || strings.ContainsAny(tool.path+tool.root+tool.name+tool.prefix, "\n\"") ||
			!strings.HasSuffix(tool.path, "/"+tool.name) || !strings.HasSuffix(tool.prefix, "ENV") {
			t.Errorf("%q: %+v", text, tool)
		}
	})
}

func FuzzInterpreterLine(tf *testing.F) {
	f := variants.Of(tf)
	for _, head := range []string{"", "#!", "#!/bin/sh -e\n", "#!/usr/bin/env -S python3 -u\n", "#! \t env \t -S\n", "\x7fELF"} {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		line := interpreterLine(head[:min(len(head), headSize)])
		if strings.ContainsAny(line.path, " \t\n") || line.path == "" && line.arg != "" {
			t.Errorf("%q: %+v", head, line)
		}
	})
}
