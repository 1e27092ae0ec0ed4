package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// manyLinks ships a chain of more links than are followed, from first to target.
func (h secretHome) manyLinks(first, target string) {
	h.t.Helper()
	const links = maxLinks + 5
	at := filepath.Join(h.own, first)
	for i := range links {
		to := fmt.Sprintf("%s/chain-%s-%d", h.own, first, i)
		if i == links-1 {
			to = target
		}
		link(h.t, to, at)
		at = to
	}
}

// TestLinksWithoutEnd: a path with more links than the kernel follows grants nothing.
func TestLinksWithoutEnd(t *testing.T) {
	needNamespaces(t)
	for name, system := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
		for _, kind := range []string{"read:fs:OWN/data", "write:fs:OWN/data", "read:fs:OWN/data/key", "exec:data:OWN/data"} {
			for _, target := range []string{"SECRET", "SECRET/key", "SECRET/run"} {
				t.Run(name+"/"+kind+"/"+target, func(t *testing.T) {
					h := newSecretHome(t, outsideTmp(t))
					h.manyLinks("data", h.expand(target))
					h.keepsSecret(trickFiles{command: []string{"/bin/sh", "-c", "for f in OWN/data OWN/data/key OWN/chain* SECRET/key SECRET/run; do read -r line <$f && echo $line; done; echo x >SECRET/new"},
						grants: []string{kind}}, system)
					if _, err := os.Stat(h.secret + "/new"); err == nil {
						t.Error("the plugin created a file outside")
					}
				})
			}
		}
	}
}

// TestGrantsOfItsOwnMakeNothingOutside: a grant that leaves the plugin's files by a link that the
// plugin ships creates nothing at the link's target.
func TestGrantsOfItsOwnMakeNothingOutside(t *testing.T) {
	needNamespaces(t)
	for _, grant := range []string{"write:fs:OWN/up/made", "write:fs:OWN/up/made.toml", "write:fs:OWN/direct"} {
		t.Run(grant, func(t *testing.T) {
			h := newSecretHome(t, outsideTmp(t))
			h.ship(map[string]string{"up": "-> SECRET", "direct": "-> SECRET/made"})
			h.keepsSecret(trickFiles{command: []string{"/bin/true"}, grants: []string{grant}, refusal: "among the plugin's own files"}, nil)
			for _, name := range []string{"/made", "/made.toml"} {
				if _, err := os.Lstat(h.secret + name); err == nil {
					t.Errorf("%s was made", name)
				}
			}
		})
	}
}

// TestLibrariesBesideAnotherLink: a program that exec: names is mounted with the libraries beside
// it, but not with those beside other links of the operator to it.
func TestLibrariesBesideAnotherLink(t *testing.T) {
	needNamespaces(t)
	for _, c := range []trickFiles{
		{name: "named by its command", command: []string{"SECRET/bin/linked", "-c", "OWN/env SECRET/lib/key"}},
		{name: "named by a #! line", files: map[string]string{"run": "#!SECRET/bin/linked\nOWN/env SECRET/lib/key\n"}},
		{name: "named by a shipped link", files: map[string]string{"run": "#!OWN/sh\nOWN/env SECRET/lib/key\n", "sh": "-> SECRET/bin/linked"}},
		{name: "found by env", files: map[string]string{"run": "#!/usr/bin/env -S PATH=SECRET/bin linked\nOWN/env SECRET/lib/key\n"}},
	} {
		for system, s := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(system+"/"+c.name, func(t *testing.T) {
				h := newSecretHome(t, outsideTmp(t))
				c.grants = []string{"exec:sh:/bin/sh", "exec:env:/usr/bin/env"}
				h.keepsSecret(c, s)
			})
		}
	}
}

// TestPathThroughALinkOfThePlugin: a directory of the operator's PATH does not count if it is
// reached by a link that the plugin ships or may change.
func TestPathThroughALinkOfThePlugin(t *testing.T) {
	needNamespaces(t)
	for name, entry := range map[string]string{"shipped": "OWN/bin", "that it may change": "OWN/cache/bin"} {
		for system, s := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(system+"/"+name, func(t *testing.T) {
				h := newSecretHome(t, outsideTmp(t))
				h.ship(map[string]string{"bin": "-> SECRET/bin", "cache/bin": "-> SECRET/bin", "run": "#!SECRET/bin/tool\n"})
				o := Options{Own: []string{h.own}, Grants: grants(t, h.expand("write:fs:OWN/cache")), Environ: []string{"PATH=" + h.expand(entry) + ":/usr/bin:/bin", "HOME=" + h.home}, System: s}
				r, err := newGroup(t).Run(t.Context(), proc.Spec{Path: h.own + "/run", Dir: h.own, Env: o.Environ, Box: New(o)}, proc.Call{})
				if err == nil || !strings.Contains(err.Error(), `add "exec:tool:`+h.secret) {
					t.Errorf("%v, %+v", err, r)
				}
			})
		}
	}
}

// TestDirectoriesThatAManifestNames: HOME and TMPDIR of a manifest reveal neither the operator's
// links nor their targets.
func TestDirectoriesThatAManifestNames(t *testing.T) {
	needNamespaces(t)
	for place, home := range map[string]func(t *testing.T) string{"below a home": outsideTmp, "below /tmp": func(t *testing.T) string { return t.TempDir() }} {
		for _, variable := range []string{"HOME", "TMPDIR"} {
			for _, target := range []string{"xq7z-pointee", "/tmp/xq7z-pointee"} {
				t.Run(fmt.Sprintf("%s/%s/absolute %t", place, variable, filepath.IsAbs(target)), func(t *testing.T) {
					h := newSecretHome(t, home(t))
					link(t, target, h.secret+"/pointer")
					s := sh(Options{Own: []string{h.own}, AnyProgram: true, Environ: []string{testPath, "HOME=" + h.home}},
						"readlink "+h.secret+"/pointer; ls /tmp /var/tmp "+h.secret+" 2>/dev/null; find / -xdev -lname '*xq7z*' 2>/dev/null; echo $HOME; :")
					s.Env = []string{variable + "=" + h.secret + "/pointer", testPath}
					if said := output(t, s); strings.Contains(said, "xq7z") {
						t.Errorf("it learnt %s", said)
					}
				})
			}
		}
	}
}

// TestShimToolsRunNothingOfThePlugin: the tool of a shim runs outside, in the plugin's directory,
// and finds none of the plugin's programs, whatever the operator's PATH is.
func TestShimToolsRunNothingOfThePlugin(t *testing.T) {
	needNamespaces(t)
	for name, entry := range map[string]string{"the working directory": ".", "an empty entry": "", "a shipped directory": "OWN/bin", "a directory that it may change": "OWN/cache",
		"a link among its files": "HOME/link", "a link to a name with a colon": "HOME/colon"} {
		t.Run(name, func(t *testing.T) {
			h := newSecretHome(t, outsideTmp(t))
			root := h.home + "/.pyenv"
			link(t, h.own+"/bin", h.home+"/link")
			write(t, h.home+"/x:bin/none", "", 0o755)
			link(t, h.home+"/x:bin", h.home+"/colon")
			write(t, root+"/shims/python", h.shim(root), 0o755)
			write(t, root+"/libexec/pyenv", "#!/bin/sh\npyenv-helper\necho $PYENV_ROOT/versions/1/bin/python\n", 0o755)
			write(t, root+"/versions/1/bin/python", "#!/bin/sh\necho real\n", 0o755)
			evil := "#!/bin/sh\necho ran >" + h.marker + "\n"
			h.ship(map[string]string{"run": "#!/usr/bin/env python\n", "pyenv-helper": evil, "bin/pyenv-helper": evil, "cache/pyenv-helper": evil})
			environ := []string{"PATH=" + h.expand(entry) + ":" + root + "/shims:/usr/bin:/bin", "HOME=" + h.home}
			o := Options{Own: []string{h.own}, Environ: environ, Grants: grants(t, h.expand("write:fs:OWN/cache"))}
			expect(t, proc.Spec{Path: h.own + "/run", Dir: h.own, Env: environ, Box: New(o)}, "real")
			if _, err := os.Stat(h.marker); err == nil {
				t.Error("code of the plugin ran outside")
			}
		})
	}
}

// TestLinksOfTheOperatorToTheSystem: a plugin that guesses a link of the operator to a directory of
// programs does not learn the link's target.
func TestLinksOfTheOperatorToTheSystem(t *testing.T) {
	needNamespaces(t)
	h := newSecretHome(t, outsideTmp(t))
	link(t, "../../../../usr/bin", h.secret+"/pointer")
	h.ship(map[string]string{"run": "#!SECRET/pointer/sh\nreadlink SECRET/pointer\n"})
	o := Options{Own: []string{h.own}, Environ: []string{testPath, "HOME=" + h.home}, AnyProgram: true}
	r, err := newGroup(t).Run(t.Context(), proc.Spec{Path: h.own + "/run", Dir: h.own, Env: []string{testPath}, Box: New(o)}, proc.Call{})
	if err == nil && strings.Contains(string(r.Stdout), "usr/bin") {
		t.Errorf("the plugin learnt the target of the link: %q", r.Stdout)
	}
}
