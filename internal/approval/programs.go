package approval

import (
	"slices"
	"strings"
)

// A program describes a program whose commands can be approved by their first words. Programs and
// uses that are not listed are approved as whole lines, because a list of dangerous ones would
// never be complete.
type program struct {
	subs    []string       // subcommands; the prefix is the program and one of them; nil: the prefix is the program alone
	named   []string       // those of subs that run a script; its name follows them and is part of the prefix
	under   map[string]sub // those of subs with their own rules
	options                // what may follow the prefix
}

// A sub is a subcommand with its own rules.
type sub struct {
	words   []string // one of these must follow, and is part of the prefix; nil: no further word is needed
	options *options // what may follow; nil: the same as for other subcommands
}

// options lists what may follow a prefix without a question. If letters or allow is set, only
// options that they list may follow.
type options struct {
	allow   []string // options that may follow, by whole names without dashes; short options only if letters is empty
	letters string   // the letters that a group of short options may have
	deny    []string // options that run a program, write a file or read outside of the project
	flags   string   // letters that a group of short options must not have
	strict  bool     // words with =, words that begin with @, and the word -- are refused: they may be options, or arguments for another program
}

// listed reports whether only listed options may follow.
func (o options) listed() bool { return o.allow != nil || o.letters != "" }

// programs returns the known programs, by the first word of a command.
func programs() map[string]program {
	none := options{allow: []string{}, strict: true}
	return map[string]program{
		"git": {
			subs: []string{"status", "diff", "log", "show", "branch", "blame", "add", "commit", "stash", "switch", "grep",
				"ls-files", "describe", "shortlog", "rev-parse"},
			under: gitSubs(),
			// Git accepts any beginning of an option's name. -O of grep runs a pager. -F of commit
			// reads a file, which may be a link out of the project, and publishes it in the log.
			options: options{deny: []string{"output", "output-directory", "ext-diff", "no-index", "open-files-in-pager", "exec",
				"file", "contents", "template", "pathspec-from-file", "ignore-revs-file", "exclude-from"}, flags: "FO"},
		},
		"go": {
			subs: []string{"test", "build", "vet", "list", "doc", "version"},
			options: options{allow: []string{"v", "run", "skip", "count", "race", "short", "timeout", "cover", "bench", "benchmem", "benchtime", "failfast",
				"json", "list", "parallel", "shuffle", "tags", "p", "m", "deps", "test", "u", "all", "src", "f"}, strict: true},
		},
		"cargo": {
			subs:    []string{"test", "build", "check", "clippy", "fmt"},
			options: options{allow: []string{"release", "all", "workspace", "lib", "quiet", "verbose"}, strict: true},
		},
		"npm":    {subs: []string{"test", "run"}, named: []string{"run"}, options: none},
		"pnpm":   {subs: []string{"test", "run"}, named: []string{"run"}, options: none},
		"yarn":   {subs: []string{"test", "run"}, named: []string{"run"}, options: none},
		"pytest": {options: options{allow: []string{"v", "vv", "q", "x", "s", "k", "m", "lf", "ff", "tb", "maxfail"}, strict: true}},
		"wc":     {options: options{deny: []string{"files0-from"}}},
		"du":     {options: options{deny: []string{"files0-from", "exclude-from"}}},
		"ls":     {}, "pwd": {}, "df": {}, "uname": {}, "which": {},
	}
}

// gitSubs returns the subcommands of git that can also destroy something: branches, commits,
// changes. Their harmless options are listed, and all others need a question. -n of commit is not
// listed, because it skips the repository's own hooks. -f of add is not listed, because it adds
// ignored files.
func gitSubs() map[string]sub {
	return map[string]sub{
		"branch": {options: &options{letters: "arvi", allow: []string{"all", "remotes", "verbose", "ignore-case", "list", "show-current", "merged", "no-merged",
			"contains", "no-contains", "points-at", "sort", "format", "column", "no-column", "color", "no-color", "abbrev", "no-abbrev"}}},
		"switch": {options: &options{letters: "cdqt", allow: []string{"create", "detach", "quiet", "track", "no-track", "guess", "no-guess"}}},
		"commit": {options: &options{letters: "amqsv", allow: []string{"all", "message", "quiet", "signoff", "verbose", "dry-run", "short", "porcelain"}}},
		"add":    {options: &options{letters: "AuNnv", allow: []string{"all", "update", "intent-to-add", "dry-run", "verbose"}}},
		"stash":  {words: []string{"list", "show"}},
	}
}

// prefix returns how many of the words belong to the prefix; 0: these words have none.
func (p program) prefix(words []string) int {
	switch {
	case p.subs == nil:
		return 1
	case len(words) < 2 || !plain(words[1]):
		return 0
	case !slices.Contains(p.subs, words[1]):
		return 0
	case p.under[words[1]].words != nil:
		if len(words) < 3 || !slices.Contains(p.under[words[1]].words, words[2]) {
			return 0
		}
	case !slices.Contains(p.named, words[1]):
		return 2
	case len(words) < 3 || !plain(words[2]) || launches(words[2]): // yarn run node x.js
		return 0
	}
	return 3
}

// plain reports whether a word is a name, not an option, an assignment or a path.
func plain(word string) bool {
	return word != "" && word[0] != '-' && !strings.ContainsAny(word, "=/ ")
}

// allows reports whether these words may run without a question. The first n belong to the prefix.
func (p program) allows(words []string, n int) bool {
	o := p.options
	if n > 1 && p.under[words[1]].options != nil {
		o = *p.under[words[1]].options
	}
	return !slices.ContainsFunc(words[n:], func(word string) bool { return leadsOut(word) || !o.allowsWord(word) })
}

// allowsWord reports whether a word may follow the prefix.
func (o options) allowsWord(word string) bool {
	switch {
	case len(word) < 2 || word[0] != '-':
		return !o.strict || !strings.Contains(word, "=") && !strings.HasPrefix(word, "@") // pytest @file reads options from the file
	case word == "--": // names follow it; with npm and go, the arguments of another program
		return !o.strict
	}
	long := strings.HasPrefix(word, "--")
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	switch {
	case o.letters != "" && !long:
		return strings.Trim(name, o.letters) == ""
	case o.listed():
		return slices.Contains(o.allow, name)
	case !long:
		return !strings.ContainsAny(name, o.flags)
	}
	return !slices.ContainsFunc(o.deny, func(denied string) bool { return strings.HasPrefix(denied, name) })
}

// leadsOut reports whether a word, or the value of an option, could be a path out of the working
// directory.
func leadsOut(word string) bool {
	if !strings.HasPrefix(word, "-") {
		return pathOut(word)
	}
	name, value, _ := strings.Cut(word, "=")
	if strings.Contains(name, "/") { // -f/etc/passwd, and -aF../x: we do not know which letter takes the path
		return true
	}
	return pathOut(value)
}

func pathOut(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || slices.Contains(strings.Split(path, "/"), "..")
}

// launchers returns programs that run what their arguments name, or code in their arguments. As a
// prefix, each of them would allow everything.
func launchers() []string {
	return []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "busybox", "eval", "exec", "source", ".", "command", "builtin", "coproc",
		"env", "sudo", "doas", "su", "nohup", "time", "timeout", "nice", "ionice", "setsid", "stdbuf", "chroot", "unshare", "xargs", "parallel",
		"watch", "find", "awk", "gawk", "mawk", "perl", "python", "python2", "python3", "ruby", "node", "deno", "bun", "php", "lua", "tclsh", "osascript",
		"npx", "bunx", "uv", "uvx", "pipx", "ssh", "script", "expect", "strace", "gdb", "tmux", "screen", "systemd-run", "at", "crontab", "ash", "mksh", "pwsh", "powershell", "cmd", "toybox", "pkexec", "run0",
		"flock", "chrt", "taskset", "prlimit", "nsenter", "bwrap", "ltrace", "valgrind", "rlwrap", "entr", "trap", "sed", "ed", "vi", "vim", "nvim", "emacs"}
}

// launches reports whether a program is one of the launchers, by any path and in any version, such
// as python3.13.
func launches(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return slices.Contains(launchers(), name) || slices.Contains(launchers(), strings.TrimRight(name, "0123456789.-"))
}
