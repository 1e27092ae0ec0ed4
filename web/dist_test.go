package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The most that a browser may have to load, in bytes after gzip.
const (
	mostFirst = 120_000 // until the first page is shown
	mostAll   = 250_000 // with every page and the editor
)

// files returns the contents of the files of dist, by name.
func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := dist.ReadFile(name)
		all[strings.TrimPrefix(name, "dist/")] = string(data)
		return err
	})
	if err != nil || all["index.html"] == "" {
		t.Fatalf("web/dist is not built: %v", err)
	}
	return all
}

var (
	inPage     = regexp.MustCompile(`(?:src|href)="/([^"]+)"`)
	imported   = regexp.MustCompile(`(?:from|import)\s*["']\./([^"']+)["']`)                                     // files that a file always loads
	maybe      = regexp.MustCompile("[\"'`](?:\\./|/)?((?:assets/)?[\\w.$-]+-[\\w-]{8}\\.(?:js|css|svg))[\"'`]") // files that it may load later
	hosts      = regexp.MustCompile(`https?://[^/"'\s` + "`" + `]+`)
	inline     = regexp.MustCompile(`<style|<script[^>]*>[^<]|\sstyle="|\son\w+="`)
	inTemplate = regexp.MustCompile(`<\w+[^<>` + "`" + `]*\sstyle=["']`)
	namespaces = map[string]bool{"http://www.w3.org": true} // names of formats, which no browser loads
)

// TestDistIsComplete: every file that the page names exists, and there is no other file.
func TestDistIsComplete(t *testing.T) {
	all := files(t)
	named := map[string]bool{"index.html": true, "sources.sha256": true}
	for name, text := range all {
		found := inPage.FindAllStringSubmatch(text, -1)
		if strings.HasSuffix(name, ".js") {
			found = maybe.FindAllStringSubmatch(text, -1)
		}
		for _, m := range found {
			to := m[1]
			if !strings.HasPrefix(to, "assets/") {
				to = "assets/" + to
			}
			if named[to] = true; all[to] == "" {
				t.Errorf("%s names %s, which does not exist", name, to)
			}
		}
	}
	for name := range all {
		if !named[name] {
			t.Errorf("no file names %s: build into an empty folder", name)
		}
	}
}

var (
	markComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	lineComment = regexp.MustCompile(`(?m)^[ \t]*//.*$`)
	emptyLines  = regexp.MustCompile(`\n+`)
)

// TestDistIsBuiltFromTheseSources: dist was built from the sources beside it. vite.config.js writes
// the hash that is compared here.
func TestDistIsBuiltFromTheseSources(t *testing.T) {
	names := []string{"index.html", "package.json", "package-lock.json", "svelte.config.js", "vite.config.js"}
	err := fs.WalkDir(os.DirFS("."), "src", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := markComment.ReplaceAllString(string(data), "")
		text = lineComment.ReplaceAllString(text, "")
		fmt.Fprintf(sum, "%s\n%s\n", name, emptyLines.ReplaceAllString(text, "\n"))
	}
	if got, want := strings.TrimSpace(files(t)["sources.sha256"]), hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("web/dist is built from other sources (%.12s, and these are %.12s): run `npm ci && npm run build` in web/, and commit web/dist", got, want)
	}
}

// TestDistHasNoComments: the hash above leaves out comments that fill whole lines, so dist must not
// contain them. Otherwise dist would differ from a new build after a comment was changed.
func TestDistHasNoComments(t *testing.T) {
	for name, text := range files(t) {
		if found := lineComment.FindString(text); strings.HasSuffix(name, ".js") && found != "" {
			t.Errorf("%s has the comment %.100q", name, found)
		}
	}
}

func TestDistIsSmall(t *testing.T) {
	all := files(t)
	first, sum := zipped(t, all["index.html"]), 0
	seen := map[string]bool{}
	var load func(name string)
	load = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		first += zipped(t, all[name])
		for _, m := range imported.FindAllStringSubmatch(all[name], -1) {
			load(path.Join("assets", m[1]))
		}
	}
	for _, m := range inPage.FindAllStringSubmatch(all["index.html"], -1) {
		load(m[1])
	}
	for _, page := range []string{"Overview", "Plugin"} { // the opened page is loaded too
		for name := range all {
			if strings.HasPrefix(name, "assets/"+page+"-") {
				load(name)
			}
		}
	}
	for _, text := range all {
		sum += zipped(t, text)
	}
	t.Logf("first load %d bytes, all %d bytes, both after gzip", first, sum)
	if first > mostFirst || sum > mostAll {
		t.Errorf("first load %d of %d bytes, all %d of %d", first, mostFirst, sum, mostAll)
	}
}

func zipped(t *testing.T, text string) int {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// TestDistKeepsToItself: the page sends no requests to other hosts, keeps its
// Content-Security-Policy, and does not name the directory where it was built.
func TestDistKeepsToItself(t *testing.T) {
	for name, text := range files(t) {
		for _, host := range hosts.FindAllString(text, -1) {
			if !namespaces[host] {
				t.Errorf("%s names %s", name, host)
			}
		}
		if found := inTemplate.FindString(text); found != "" {
			t.Errorf("%s has a style inside an element: %s", name, found)
		}
		if strings.HasSuffix(name, ".html") && inline.MatchString(text) {
			t.Errorf("%s has script or style inside: %s", name, inline.FindString(text))
		}
		if strings.Contains(text, "node_modules") || strings.Contains(text, "sourceMappingURL") || strings.HasSuffix(name, ".map") {
			t.Errorf("%s names the directory where it was built", name)
		}
	}
}
