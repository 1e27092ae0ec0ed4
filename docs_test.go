package patchbay_test

import (
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// guides are the pages whose links TestLinksOfTheGuides follows.
var guides = []string{"docs/README.md", "docs/examples.md", "docs/glossary.md", "docs/troubleshooting.md", "docs/plugin-dev.md", "docs/configuration.md",
	"docs/first-plugin.md", "docs/first-plugin-go.md", "docs/first-plugin-python.md", "docs/first-plugin-javascript.md", "docs/first-plugin-bash.md", "docs/porting.md"}

// TestTheIndexHasEveryPage: docs/README.md names every page below docs, except the decisions, which
// have their own index.
func TestTheIndexHasEveryPage(t *testing.T) {
	index := page(t, "docs/README.md")
	for _, path := range pages(t) {
		name, _ := filepath.Rel("docs", path)
		name = filepath.ToSlash(name)
		if name != "README.md" && !strings.HasPrefix(name, "decisions/0") && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
}

// namedTest matches the name of a test in a page. A name with … after it is the beginning of the
// names of several tests.
var namedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)(…?)")

// TestThePagesNameTestsThatExist: each test that a page names as the proof of a sentence exists.
func TestThePagesNameTestsThatExist(t *testing.T) {
	known := make(map[string]bool)
	for _, f := range readRepository(t, ".go") {
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok {
				known[d.Name.Name] = true
			}
		}
	}
	named := 0
	for _, path := range append(pages(t), "CONTRIBUTING.md") {
		for _, m := range namedTest.FindAllStringSubmatch(page(t, path), -1) {
			named++
			begins := func(name string) bool { return strings.HasPrefix(name, m[1]) }
			if !known[m[1]] && (m[2] == "" || !slices.ContainsFunc(slices.Collect(maps.Keys(known)), begins)) {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			}
		}
	}
	if named < 200 {
		t.Errorf("only %d names were found: the pattern is broken", named)
	}
}

// TestEveryDecisionIsListed: docs/decisions/README.md names every decision.
func TestEveryDecisionIsListed(t *testing.T) {
	index := page(t, "docs/decisions/README.md")
	for _, path := range pages(t) {
		if name := filepath.Base(path); strings.HasPrefix(filepath.ToSlash(path), "docs/decisions/0") && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/decisions/README.md does not name %s", name)
		}
	}
}

// TestTheExamplesAreListed: docs/examples.md names every directory and plugin in examples, every
// page of a protocol, and every plugin that a page prints.
func TestTheExamplesAreListed(t *testing.T) {
	index := page(t, "docs/examples.md")
	for _, pattern := range []string{"examples/*", "examples/plugins/*", "examples/agents/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		for _, path := range found {
			name := filepath.Base(path)
			if strings.HasSuffix(name, "_test.go") || name == "README.md" || name == "testdata" || name == "patchbay.lock" || name == "go.mod" || name == "go.sum" {
				continue
			}
			if !strings.Contains(index, "examples/"+strings.TrimPrefix(filepath.ToSlash(path), "examples/")) {
				t.Errorf("docs/examples.md does not name %s", path)
			}
		}
	}
	for _, path := range pages(t) {
		name, _ := filepath.Rel("docs", path)
		if printed := printedPlugins(t, path); len(printed) > 0 || strings.HasPrefix(filepath.ToSlash(name), "protocols/") {
			checkListed(t, index, filepath.ToSlash(name), printed)
		}
	}
}

// checkListed checks that the index names a page and the plugins that the page prints. The guides
// to hosts all print the same plugin, so that only their index must be named.
func checkListed(t *testing.T, index, name string, printed []string) {
	t.Helper()
	if strings.HasPrefix(name, "hosts/") {
		name = "hosts/README.md"
	}
	if !strings.Contains(index, "]("+name) {
		t.Errorf("docs/examples.md does not name docs/%s", name)
	}
	for _, plugin := range printed {
		if name != "troubleshooting.md" && !strings.Contains(index, "`"+plugin+"`") {
			t.Errorf("docs/examples.md does not name %s of docs/%s", plugin, name)
		}
	}
}

var printedFile = regexp.MustCompile("(?m)^```\\w+ file=(\\S+)$")

// printedPlugins returns the plugins that a page prints, by the name of their directory or file.
func printedPlugins(t *testing.T, path string) []string {
	t.Helper()
	var names []string
	for _, m := range printedFile.FindAllStringSubmatch(page(t, path), -1) {
		name := filepath.Base(m[1])
		switch {
		case strings.Contains(m[1], "/agents/"), name == "config.toml", name == "secrets.toml":
			continue
		case strings.Contains(m[1], "/plugins/") && filepath.Base(filepath.Dir(m[1])) != "plugins", strings.HasPrefix(m[1], "src/"):
			name = filepath.Base(filepath.Dir(m[1]))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksOfTheGuides: every link leads to a file that exists, and every anchor to one of its
// headings.
func TestLinksOfTheGuides(t *testing.T) {
	for _, guide := range guides {
		for _, m := range link.FindAllStringSubmatch(page(t, guide), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") {
				continue
			}
			target := guide
			if file != "" {
				target = filepath.Join(filepath.Dir(guide), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads to no file", guide, m[1])
			} else if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s: the link %s names a heading that does not exist", guide, m[1])
			}
		}
	}
}

// anchors returns the headings of a page in the form that links use.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page(t, path), -1) {
		text := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}

func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages returns all pages below docs.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir("docs", func(path string, e fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) < 20 {
		t.Fatalf("%d pages: %v", len(all), err)
	}
	return all
}

var printedBlock = regexp.MustCompile("(?ms)^```\\w+ file=(\\S+)\n(.*?)^```$")

// TestPrintedFilesAreNamed: a website does not show the name after the fence of a block, so the
// paragraph before the block names the file. If the file must be made executable, that paragraph or
// the text after the block says so.
func TestPrintedFilesAreNamed(t *testing.T) {
	for _, path := range pages(t) {
		text := page(t, path)
		for _, at := range printedBlock.FindAllStringSubmatchIndex(text, -1) {
			name, body := text[at[2]:at[3]], text[at[4]:at[5]]
			before := strings.Split(strings.TrimSpace(text[:at[0]]), "\n\n")
			intro := before[len(before)-1]
			if !strings.Contains(intro, filepath.Base(name)+"`") {
				t.Errorf("%s: the text before a block does not name its file, %s", path, name)
			}
			if after, _, _ := strings.Cut(text[at[1]:], "\n## "); strings.HasPrefix(body, "#!") &&
				!strings.Contains(intro, "executable") && !strings.Contains(intro+after, "chmod +x") {
				t.Errorf("%s: nothing says that %s must be executable", path, name)
			}
		}
	}
}
