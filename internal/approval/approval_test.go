package approval

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestPrefixes: a rule allows its command, and no line that only looks like it.
func TestPrefixes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("prefixes are for /bin/sh")
	}
	prefix := func(words ...string) Rule { return Rule{Prefix: words} }
	tests := []struct {
		rule Rule
		yes  []string
		no   []string
	}{
		{prefix("git", "status"), []string{
			"git status", "  git\tstatus ", "git status -s", "git status --porcelain=v2 -- src", "'git' \"status\"", "git status 'a b'", "git status -- -s",
		}, []string{
			"git status; rm -rf /", "git status;rm x", "git status && x", "git status || x", "git status | sh", "git status & x", "git status &",
			"git status\nrm -rf /", "git status\r\nrm x", "git status $(x)", "git status `x`", "git status \"$(x)\"", "git status \"`x`\"", "git status ${IFS}x",
			"git status $HOME", "git status > /etc/passwd", "git status >x", "git status >>x", "git status 2>x", "git status <x", "git status <(x)", "git status >(x)",
			"A=b git status", "GIT_PAGER=x git status", "PATH=.:$PATH git status", "git -c alias.status='!x' status", "git -c core.pager=x status",
			"git --exec-path=. status", "git -C /x status", "git --git-dir=x status", "git statusx", "gitstatus", "git  stat us", "git", "xgit status",
			"./git status", "/usr/bin/git status", "git\\ status", "git status \\; x", "git status \\\nx", "git status *", "git status ?", "git status [a]",
			"git status {a,b}", "git status ~", "git status ~/x", "git status #x", "!git status", "(git status)", "{ git status; }", "git status 'a", "git status \"a",
			"git status \x00", "git status 'a\nrm x'", "git status \u2028x", "git\u00a0status", "git status\u00a0;x", "if git status", "time git status", "env git status",
			"exec git status", "=git status", "git status ^x", "", " ", "git status /etc", "git status ../x", "git status a/../../x", "git\vstatus", "git status\fx",
		}},
		{prefix("git", "log"), []string{"git log --oneline -5", "git log main..HEAD", "git log -p --format='%h %s'", "git log --stat -- a/b.go"}, []string{
			"git log --output=x", "git log --outp=x", "git log --o=x", "git log --output x", "git log --ext-diff", "git log --no-index",
		}},
		{prefix("git", "diff"), []string{"git diff", "git diff --cached -w"}, []string{
			"git diff /dev/null /etc/passwd", "git diff --no-index a b", "git diff --no-i a ../b", "git diff ../secret x", "git diff --output=hooks/x",
		}},
		{prefix("git", "grep"), []string{"git grep -n main"}, []string{"git grep -Ovi x", "git grep -nO./x y", "git grep --open-files-in-pager=x y", "git grep --open=x y"}},
		{prefix("git", "commit"), []string{"git commit -am 'say why'", "git commit -m \"it's done\""}, []string{
			"git commit -m \"$(x)\"", "git commit -F /etc/passwd",
			"git commit -aF/etc/passwd", "git commit -aF../x", "git commit -aFx/../../y", "git commit -qaF../x=y", "git commit -F notes", "git commit --file=notes", "git commit --fil notes",
		}},
		{prefix("git", "blame"), []string{"git blame -w a.go"}, []string{"git blame --contents=notes a.go", "git blame --cont notes a.go", "git blame --ignore-revs-file=notes a.go", "git blame -wS/etc/passwd a"}},
		{prefix("git", "add"), []string{"git add -A"}, []string{"git add --pathspec-from-file=notes", "git add --pathspec-f=notes"}},
		{prefix("git", "branch"), []string{"git branch", "git branch -vv", "git branch -a --list 'x*'", "git branch --merged=main --sort=-committerdate", "git branch topic"}, []string{
			"git branch -D x", "git branch -d x", "git branch -rd x", "git branch -vD x", "git branch --delete x", "git branch --del x", "git branch -m x", "git branch -M x y", "git branch --move x y",
			"git branch -c x y", "git branch -C x y", "git branch -f x HEAD~3", "git branch --force x y", "git branch --edit-description", "git branch -u x", "git branch --unset-upstream",
		}},
		{prefix("git", "switch"), []string{"git switch main", "git switch -c topic", "git switch -"}, []string{
			"git switch -f main", "git switch --force main", "git switch --discard-changes main", "git switch -C main", "git switch --force-create=main", "git switch -qC main", "git switch --orphan x",
		}},
		{prefix("git", "commit"), []string{"git commit -q -m x", "git commit -m 'a=b'", "git commit -m @x", "git commit --message='say why' -- a.go"}, []string{
			"git commit --amend", "git commit --am -m x", "git commit -n -m x", "git commit --no-verify -m x", "git commit --allow-empty-message", "git commit -t notes", "git commit -anm x", "git commit --reset-author",
		}},
		{prefix("git", "add"), []string{"git add -A", "git add -u src", "git add -N a.go"}, []string{"git add -f .env", "git add --force .env", "git add -Af", "git add --chmod=+x a"}},
		{prefix("git", "stash"), nil, []string{"git stash", "git stash drop", "git stash clear", "git stash pop", "git stash -u"}},
		{prefix("git", "stash", "list"), []string{"git stash list", "git stash list --stat"}, []string{"git stash drop", "git stash list --output=x", "git stash"}},
		{prefix("git", "tag"), nil, []string{"git tag", "git tag -d x"}},
		{prefix("git", "checkout"), nil, []string{"git checkout main", "git checkout -- ."}},
		{prefix("git", "restore"), nil, []string{"git restore a"}},
		{prefix("git", "clean"), nil, []string{"git clean -n", "git clean -fdx"}},
		{prefix("git", "reset"), nil, []string{"git reset", "git reset --hard"}},
		{prefix("git", "rev-parse"), []string{"git rev-parse HEAD", "git rev-parse --show-toplevel"}, nil},
		{prefix("go", "clean"), nil, []string{"go clean", "go clean -cache"}},
		{prefix("go", "vet"), []string{"go vet ./..."}, []string{"go vet -fix ./..."}},
		{prefix("cargo", "clippy"), []string{"cargo clippy"}, []string{"cargo clippy --fix"}},
		{prefix("cargo", "clean"), nil, []string{"cargo clean"}},
		{prefix("npm", "install"), nil, []string{"npm install"}},
		{prefix("go", "test"), []string{"go test ./...", "go test -run 'TestA|TestB' -count=1 -v ./a", "go test -race"}, []string{
			"go test -exec=./x ./...", "go test --exec ./x", "go test -toolexec=./x", "go test -o x", "go test -ldflags=-extld=./x", "go test -overlay=x",
			"go test -C .. ./...", "go test -vettool=x", "go test ../...", "go test -args x", "go test -coverprofile=x", "go test -- x",
		}},
		{prefix("make", "test"), nil, []string{"make test", "make test deploy", "make test SHELL=./x", "make -f x test", "make test -f x", "make test --eval=x", "make"}},
		{prefix("npm", "run", "build"), []string{"npm run build"}, []string{"npm run build --script-shell=./x", "npm run evil", "npm run", "npm run build -- --x"}},
		{prefix("pytest"), []string{"pytest -v tests/test_a.py::test_b", "pytest -k 'a or b'"}, []string{"pytest @options", "pytest -v '@options'", "pytest -p evil", "pytest -c x"}},
		{prefix("wc"), []string{"wc -l a.go"}, []string{"wc --files0-from=list", "wc --files0=list"}},
		{prefix("du"), []string{"du -sh src"}, []string{"du --files0-from=list", "du -aX/etc/passwd", "du --exclude-from=list"}},
		{prefix("ls"), []string{"ls", "ls -la src"}, []string{"ls /", "ls ~", "ls ..", "ls src/../..", "ls; x", "lsx"}},
		{Rule{Prefix: []string{"kubectl", "get"}, Any: true}, []string{"kubectl get pods -o yaml"}, []string{"kubectl get pods; x", "kubectl get $(x)", "X=1 kubectl get", "kubectl"}},
		{Rule{Exact: "make a && make b"}, []string{"make a && make b"}, []string{"make a && make b; x", "make a", "make a &&  make b", "make a && make b "}},
		{Rule{}, nil, []string{"", "x"}},
		{prefix(""), nil, []string{"", "'' x", "x"}},
		{prefix("sh"), nil, []string{"sh", "sh -c x"}}, // not a known program: the prefix allows nothing, not even the program alone
	}
	for _, test := range tests {
		for _, line := range test.yes {
			if !test.rule.Allows(line) {
				t.Errorf("%v does not allow %q", test.rule, line)
			}
		}
		for _, line := range test.no {
			if test.rule.Allows(line) {
				t.Errorf("%v allows %q", test.rule, line)
			}
		}
	}
}

// TestOffer: the offered rule allows the command itself. It is a prefix only if programs.go lists
// what may follow.
func TestOffer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("prefixes are for /bin/sh")
	}
	for line, want := range map[string]string{
		"git status -s":              "git status …",
		"git -c x=y status":          "git -c x=y status",
		"git push origin main":       "git push origin main",
		"git log --output=x":         "git log --output=x",
		"git branch -a":              "git branch …",
		"git branch -D x":            "git branch -D x",
		"git tag -d x":               "git tag -d x",
		"git stash":                  "git stash",
		"git stash drop":             "git stash drop",
		"git stash show -p":          "git stash show …",
		"git commit --amend -m x":    "git commit --amend -m x",
		"git checkout -- .":          "git checkout -- .",
		"git restore .":              "git restore .",
		"git clean -fd":              "git clean -fd",
		"go clean -modcache":         "go clean -modcache",
		"go test ./... -run X":       "go test …",
		"go run .":                   "go run .",
		"npm run build":              "npm run build …",
		"npm run":                    "npm run",
		"yarn run node x.js":         "yarn run node x.js",
		"pnpm run bash x":            "pnpm run bash x",
		"make a b":                   "make a b",
		"make":                       "make",
		"make check":                 "make check",
		"make A=b":                   "make A=b",
		"ls -l":                      "ls …",
		"rm -rf build":               "rm -rf build",
		"python3 x.py":               "python3 x.py",
		"cd a && make b":             "cd a && make b",
		"git status; rm -rf /":       "git status; rm -rf /",
		"cat <<EOF\nx\nEOF":          "cat <<EOF\nx\nEOF",
		strings.Repeat("x", maxLine): strings.Repeat("x", maxLine),
	} {
		r, ok := Offer(line)
		if !ok || r.String() != want || !r.Allows(line) {
			t.Errorf("%q is remembered as %q, %v; it allows itself: %v", line, r, ok, r.Allows(line))
		}
	}
	for _, line := range []string{"", " \n", strings.Repeat("x", maxLine+1)} {
		if r, ok := Offer(line); ok {
			t.Errorf("%q is remembered as %q", line, r)
		}
	}
}

func TestTyped(t *testing.T) {
	for _, words := range [][]string{nil, {""}, {"A=b", "x"}, {"sh"}, {"/bin/bash", "-c"}, {"sudo", "git"}, {"env"}, {"xargs"},
		{"git status; x"}, {"a b", "c"}, {"$X"},
		{"python3.13", "x"}, {"pwsh"}, {"flock"}, {"pkexec"}, {"sed"}, {"vim"}, {"uvx"}, {"/usr/bin/nsenter"}} {
		if r, err := Typed(words); err == nil {
			t.Errorf("%q became %v", words, r)
		}
	}
	if r, err := Typed([]string{"docker", "compose", "ps"}); err != nil || r.String() != "docker compose ps …" {
		t.Errorf("%v, %v", r, err)
	}
}

// TestCommand: the command is the one that the tool will run, or none.
func TestCommand(t *testing.T) {
	for args, want := range map[string]string{
		`{"cmd":"ls"}`: "ls", `{"timeout":3,"cmd":"ls -l"}`: "ls -l", ` {"CMD":"ls"}`: "ls",
		`{"cmd":"ls","CMD":"rm"}`: "", `{"cmd":"ls","cmd":"rm"}`: "", `{"cm\u0064":"ls","cmd":"rm"}`: "",
		`{}`: "", `null`: "", `[]`: "", `{"cmd":1}`: "", `{"cmd":"ls"`: "", `{"cmd":"ls"} x`: "", ``: "",
	} {
		if got, ok := Command(json.RawMessage(args)); got != want || ok != (want != "") {
			t.Errorf("%s has the command %q, %v", args, got, ok)
		}
	}
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", FileName)
	store := Store{path}
	a, b := store.Project("/a"), store.Project("/b")
	var writers sync.WaitGroup
	for _, word := range []string{"one", "two", "three", "four"} {
		writers.Go(func() {
			if err := a.Add(Rule{Exact: word}); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if err := a.Add(Rule{Exact: "one"}); err != nil {
		t.Fatal(err)
	}
	rules, err := a.Rules()
	if err != nil || len(rules) != 4 || rules[0].Added.IsZero() {
		t.Fatalf("%v, %v", rules, err)
	}
	if _, ok, err := a.Allows("two"); !ok || err != nil {
		t.Errorf("two is not allowed: %v", err)
	}
	if _, ok, _ := b.Allows("two"); ok {
		t.Error("a rule of one project counts in another")
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	gone, err := a.Remove(func(r Rule) bool { return r.Exact == "two" })
	if err != nil || len(gone) != 1 {
		t.Errorf("%v, %v", gone, err)
	}
	if _, ok, _ := a.Allows("two"); ok {
		t.Error("a removed rule still allows its command")
	}
	if _, err := a.Remove(func(Rule) bool { return true }); err != nil {
		t.Error(err)
	}
	if all, err := store.Projects(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestADamagedFileAllowsNothing: a damaged file allows nothing, is reported, and is not
// overwritten.
func TestADamagedFileAllowsNothing(t *testing.T) {
	for _, text := range []string{"{", `{"projects":{"/a":[{"exact":"x"},{"prefix":[]}]}}`, `{"projects":{"/a":[{"exact":"x"},{"exact":"y","prefix":["z"]}]}}`, `[]`} {
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a := Store{path}.Project("/a")
		if _, ok, err := a.Allows("x"); ok || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", text, ok, err)
		}
		if err := a.Add(Rule{Exact: "y"}); err == nil {
			t.Errorf("%s was overwritten", text)
		}
	}
	dir := filepath.Join(t.TempDir(), FileName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := (Store{dir}).Project("/a").Allows("x"); ok || err == nil || os.IsNotExist(err) && err != fs.ErrNotExist {
		t.Errorf("a directory: %v, %v", ok, err)
	}
}

// TestWordsSplitsAsTheShell: Words splits a line as /bin/sh does.
func TestWordsSplitsAsTheShell(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	for _, line := range []string{"git status", "a 'b c' \"d e\"f'g'", "a '' \"\"", "x --format='%h; $(y)' -- \"it's\"", "a\tb  c ", "a 'é ü'", "x a:b,c=d@e+f%g"} {
		words, ok := Words(line)
		out, err := exec.Command("/bin/sh", "-c", "printf '%s\\0' "+line).Output()
		if got := strings.Join(words, "\x00") + "\x00"; !ok || err != nil || got != string(out) {
			t.Errorf("%q: %q, and the shell has %q, %v", line, got, out, err)
		}
	}
}

func FuzzWords(tf *testing.F) {
	f := variants.Of(tf)
	for _, line := range []string{"git status", "a 'b c' \"d\"", "a;b", "a\\ b", "'", "a\x00b", "é 'é'"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, ok := Words(line)
		if !ok {
			return
		}
		again, ok := Words(Join(words))
		if quoted := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "'") }); !quoted && (!ok || !slices.Equal(words, again)) {
			t.Errorf("%q became %q, and then %q", line, words, again)
		}
	})
}
