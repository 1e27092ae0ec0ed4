package approval

import (
	"slices"
	"strings"
)

// A program is what is known of a program whose commands can be remembered by their first words.
// Programs that are not listed, and uses of them that are not, are remembered as whole lines: a
// list of what is dangerous would never be complete.
type program struct {
	subs  []string // the words behind the program of which one belongs to the prefix; nil: the program alone is the prefix
	named []string // those of subs that the name of a script has to follow, which belongs to the prefix, too
	allow []string // the options that may follow, without their dashes; nil: all but deny
	deny  []string // options that run a program, write a file or read outside of the project
	flags string   // letters that no group of short options may have
}

// programs is what is known, by the word that the command begins with.
func programs() map[string]program {
	none := []string{}
	return map[string]program{
		"git": {
			subs: []string{"status", "diff", "log", "show", "branch", "blame", "add", "commit", "stash", "switch", "grep",
				"ls-files", "describe", "shortlog", "rev-parse"},
			// Git takes any beginning of an option's name for the whole. -O of grep runs a pager,
			// and -F of commit reads a file, which may be a link out of the project, and shows it
			// to whoever reads the log.
			deny: []string{"output", "output-directory", "ext-diff", "no-index", "open-files-in-pager", "exec",
				"file", "contents", "template", "pathspec-from-file", "ignore-revs-file", "exclude-from"}, flags: "FO",
		},
		"go": {
			subs: []string{"test", "build", "vet", "list", "doc", "version"},
			allow: []string{"v", "run", "skip", "count", "race", "short", "timeout", "cover", "bench", "benchmem", "benchtime", "failfast",
				"json", "list", "parallel", "shuffle", "tags", "p", "m", "deps", "test", "u", "all", "src", "f"},
		},
		"cargo":  {subs: []string{"test", "build", "check", "clippy", "fmt"}, allow: []string{"release", "all", "workspace", "lib", "quiet", "verbose"}},
		"npm":    {subs: []string{"test", "run"}, named: []string{"run"}, allow: none},
		"pnpm":   {subs: []string{"test", "run"}, named: []string{"run"}, allow: none},
		"yarn":   {subs: []string{"test", "run"}, named: []string{"run"}, allow: none},
		"pytest": {allow: []string{"v", "vv", "q", "x", "s", "k", "m", "lf", "ff", "tb", "maxfail"}},
		"wc":     {deny: []string{"files0-from"}},
		"du":     {deny: []string{"files0-from", "exclude-from"}},
		"ls":     {}, "pwd": {}, "df": {}, "uname": {}, "which": {},
	}
}

// prefix is how many of the words belong to the prefix; 0: these words have none.
func (p program) prefix(words []string) int {
	switch {
	case p.subs == nil:
		return 1
	case len(words) < 2 || !plain(words[1]):
		return 0
	case !slices.Contains(p.subs, words[1]):
		return 0
	case !slices.Contains(p.named, words[1]):
		return 2
	case len(words) < 3 || !plain(words[2]) || carries(words[2]): // yarn run node x.js
		return 0
	}
	return 3
}

// plain tells a name from an option, an assignment and a path.
func plain(word string) bool {
	return word != "" && word[0] != '-' && !strings.ContainsAny(word, "=/ ")
}

// takes tells whether these words may follow the prefix without a question.
func (p program) takes(rest []string) bool {
	for _, word := range rest {
		if leadsOut(word) {
			return false
		}
		option := len(word) > 1 && word[0] == '-'
		switch {
		case option && !p.takesOption(word):
			return false
		case !option && p.allow != nil && (strings.Contains(word, "=") || strings.HasPrefix(word, "@")): // pytest @file, with options in the file
			return false
		}
	}
	return true
}

func (p program) takesOption(word string) bool {
	if word == "--" { // what follows are names; with npm and go, words for another program
		return p.allow == nil
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if p.allow != nil {
		return slices.Contains(p.allow, name)
	}
	if !strings.HasPrefix(word, "--") {
		return !strings.ContainsAny(name, p.flags)
	}
	return !slices.ContainsFunc(p.deny, func(denied string) bool { return strings.HasPrefix(denied, name) })
}

// leadsOut tells whether a word, or the value of an option, could be a path that leads out of the
// working directory.
func leadsOut(word string) bool {
	if !strings.HasPrefix(word, "-") {
		return pathOut(word)
	}
	name, value, _ := strings.Cut(word, "=")
	if strings.Contains(name, "/") { // -f/etc/passwd, and -aF../x: which letter takes the path is not known
		return true
	}
	return pathOut(value)
}

func pathOut(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || slices.Contains(strings.Split(path, "/"), "..")
}

// carriers run what their arguments name, or code among their arguments: as a prefix, each of them
// would allow everything.
func carriers() []string {
	return []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "busybox", "eval", "exec", "source", ".", "command", "builtin", "coproc",
		"env", "sudo", "doas", "su", "nohup", "time", "timeout", "nice", "ionice", "setsid", "stdbuf", "chroot", "unshare", "xargs", "parallel",
		"watch", "find", "awk", "gawk", "mawk", "perl", "python", "python2", "python3", "ruby", "node", "deno", "bun", "php", "lua", "tclsh", "osascript",
		"npx", "bunx", "uv", "uvx", "pipx", "ssh", "script", "expect", "strace", "gdb", "tmux", "screen", "systemd-run", "at", "crontab", "ash", "mksh", "pwsh", "powershell", "cmd", "toybox", "pkexec", "run0",
		"flock", "chrt", "taskset", "prlimit", "nsenter", "bwrap", "ltrace", "valgrind", "rlwrap", "entr", "trap", "sed", "ed", "vi", "vim", "nvim", "emacs"}
}

// carries tells whether a program is one of the carriers, by any path and in any version:
// python3.13.
func carries(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return slices.Contains(carriers(), name) || slices.Contains(carriers(), strings.TrimRight(name, "0123456789.-"))
}
