package plugininstall

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// gitTime limits a fetch.
const gitTime = 5 * time.Minute

// A git fetches the newest commit of one ref into its own repository. Nothing is ever checked out,
// so that no hook, filter, submodule or attribute has an effect: the files are read one by one from
// the objects, and written by the sink.
type git struct {
	procs *proc.Group
	env   []string
	repo  string // bare
}

// newGit makes an empty repository in dir. The user's configuration of git and ssh is not read: it
// may name programs to run.
func newGit(ctx context.Context, procs *proc.Group, environ []string, dir string) (*git, error) {
	g := &git{procs: procs, repo: filepath.Join(dir, "repo"), env: gitEnv(environ, dir)}
	_, err := g.run(ctx, "init", "--quiet", "--bare", "--template=", "--", g.repo)
	return g, err
}

// passed lists the variables that git may see: for the network, and for the agent with the ssh
// keys.
var passed = []string{"PATH", "LANG", "TMPDIR", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "ALL_PROXY", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "SSH_AUTH_SOCK"}

func gitEnv(environ []string, home string) []string {
	return dialect.Env{Vars: environ}.Pick(passed,
		"HOME="+home, "XDG_CONFIG_HOME="+home, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_LFS_SKIP_SMUDGE=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_ALLOW_PROTOCOL=https:ssh:file", "GIT_PROTOCOL_FROM_USER=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_SSH_COMMAND=ssh -F "+os.DevNull+" -o BatchMode=yes -o StrictHostKeyChecking=yes -o ForwardAgent=no -o PermitLocalCommand=no -o ConnectTimeout=30")
}

// settings apply to every command, whatever a repository's own configuration says. For ssh, the
// variable of [gitEnv] has precedence over any configuration.
var settings = []string{"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.pager=cat", "core.alternateRefsCommand=",
	"credential.helper=", "fetch.recurseSubmodules=false", "submodule.recurse=false", "fetch.fsckObjects=true", "gc.auto=0", "maintenance.auto=false",
	"protocol.allow=never", "protocol.https.allow=always", "protocol.ssh.allow=always", "protocol.file.allow=always",
	"filter.lfs.smudge=", "filter.lfs.process=", "http.followRedirects=initial"}

// run runs git and returns its output.
func (g *git) run(ctx context.Context, args ...string) ([]byte, error) {
	return g.feed(ctx, nil, args...)
}

func (g *git) feed(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	out, err := g.procs.Run(ctx, g.spec(args...),
		proc.Call{Stdin: stdin, MaxStdout: 64 << 20, Grace: time.Second})
	switch {
	case err != nil:
		return nil, err
	case out.Exit.Code != 0:
		return nil, gitError(args[0], out.Stderr)
	case out.Truncated:
		return nil, fmt.Errorf("git %s printed too much", args[0])
	}
	return out.Stdout, nil
}

func (g *git) spec(args ...string) proc.Spec {
	return proc.Spec{Path: "git", Args: g.args(args), Dir: filepath.Dir(g.repo), Env: g.env}
}

func (g *git) args(args []string) []string {
	var all []string
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	if args[0] != "init" {
		all = append(all, "--git-dir="+g.repo)
	}
	return append(all, args...)
}

// gitError returns git's error, with a fix if one is known.
func gitError(command, stderr string) error {
	text := strings.TrimSpace(stderr)
	fix := ""
	switch {
	case strings.Contains(text, "could not read Username"), strings.Contains(text, "terminal prompts disabled"), strings.Contains(text, "Permission denied (publickey"):
		fix = "for a repository that is not public, use its ssh address with a key in your agent, or clone it yourself and install the directory"
	case strings.Contains(text, "dubious ownership"):
		fix = "the repository belongs to another user: install a copy of your own"
	case strings.Contains(text, "couldn't find remote ref"), strings.Contains(text, "not our ref"):
		fix = "name a branch, a tag or a whole commit of that repository"
	case strings.Contains(text, "Host key verification failed"):
		fix = "connect to that host once with ssh, and look at its key"
	}
	return &SourceError{why: "git " + command + ": " + excerpt.Of(text, 500), fix: fix}
}

// fetch fetches the commit of a ref, without its history.
func (g *git) fetch(ctx context.Context, url, ref string) (commit string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitTime, fmt.Errorf("the repository was not fetched within %v", gitTime))
	defer cancel()
	bounded, stop := g.watchSize(ctx)
	defer stop()
	if ref == "" {
		ref = "HEAD"
	}
	_, err = g.run(bounded, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--refmap=", "--", url, "+"+ref+":refs/patchbay/fetched")
	if err != nil {
		if cause := context.Cause(bounded); cause != nil && ctx.Err() == nil {
			err = cause
		}
		return "", err
	}
	out, err := g.run(ctx, "rev-parse", "--verify", "--end-of-options", "refs/patchbay/fetched^{commit}")
	return strings.TrimSpace(string(out)), err
}

// watchSize ends a fetch if its objects become too large.
func (g *git) watchSize(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if treeSize(g.repo) > mostFetched {
				cancel(fmt.Errorf("the repository has more than %d MiB", mostFetched>>20))
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// treeSize returns the size of a directory, which may change meanwhile.
func treeSize(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // a file that disappears meanwhile has no size
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

// An object is one file of a commit.
type object struct {
	mode string
	id   string
	size int64
	name string
}

// export writes the files of a commit.
func (g *git) export(ctx context.Context, s *sink, commit string) error {
	if treeSize(g.repo) > mostFetched {
		return fmt.Errorf("the repository has more than %d MiB", mostFetched>>20)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gitTime, fmt.Errorf("the files of the repository were not read within %v", gitTime))
	defer cancel()
	out, err := g.list(ctx, commit)
	if err != nil {
		return err
	}
	objects, err := readTree(s, out)
	if err != nil {
		return err
	}
	for len(objects) > 0 {
		n := batch(objects)
		if err := g.exportSome(ctx, s, objects[:n]); err != nil {
			return err
		}
		objects = objects[n:]
	}
	return nil
}

// mostList limits git's output about the files of a commit.
const mostList = 64 << 20

// list returns git's output about the files of a commit. If each of a few directories contains the
// next one several times, this can be billions of files. So git is ended if it prints too much.
func (g *git) list(ctx context.Context, commit string) ([]byte, error) {
	p, err := g.procs.Start(ctx, g.spec("ls-tree", "-r", "-z", "-l", "--full-tree", commit))
	if err != nil {
		return nil, err
	}
	defer p.Stop(context.Background(), proc.Ladder{})
	defer context.AfterFunc(ctx, func() { p.Terminate(time.Second) })()
	out, err := io.ReadAll(io.LimitReader(p.Stdout(), mostList+1))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	if len(out) > mostList {
		return nil, hostile(commit, "the commit has too many files")
	}
	<-p.Done()
	if p.Exit().Code != 0 {
		return nil, gitError("ls-tree", p.Stderr())
	}
	return out, nil
}

// batchSize is how many bytes of files are read at once.
const batchSize = 32 << 20

// batch returns how many of the next objects are read together. An object larger than a batch is
// read alone.
func batch(objects []object) int {
	var size int64
	for i, o := range objects {
		if size += o.size + 100; size > batchSize && i > 0 {
			return i
		}
	}
	return len(objects)
}

// readTree reads "MODE TYPE ID SIZE\tNAME" entries. It leaves out entries that are not files or
// links of a plugin.
func readTree(s *sink, out []byte) ([]object, error) {
	var objects []object
	for line := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		head, name, ok := bytes.Cut(line, []byte{'\t'})
		fields := strings.Fields(string(head))
		if len(line) == 0 {
			continue
		}
		if !ok || len(fields) != 4 {
			return nil, fmt.Errorf("git ls-tree printed %q", excerpt.Of(string(line), 80))
		}
		if fields[1] == "commit" {
			s.notes = append(s.notes, string(name)+": a submodule, which is left out")
			continue
		}
		cleaned, ok, err := clean(string(name))
		if err != nil {
			return nil, err
		}
		size, sizeErr := strconv.ParseInt(fields[3], 10, 64)
		if sizeErr != nil || size > mostBytes {
			return nil, hostile(string(name), "it is too large")
		}
		if ok {
			objects = append(objects, object{fields[0], fields[2], size, cleaned})
		}
	}
	if len(objects) > mostFiles {
		return nil, hostile(objects[0].name, fmt.Sprintf("there are more than %d files", mostFiles))
	}
	return objects, nil
}

// exportSome reads some objects and writes their files.
func (g *git) exportSome(ctx context.Context, s *sink, objects []object) error {
	var ids bytes.Buffer
	for _, o := range objects {
		ids.WriteString(o.id + "\n")
	}
	most := 2*batchSize + int(objects[0].size)
	out, err := g.procs.Run(ctx, g.spec("cat-file", "--batch"),
		proc.Call{Stdin: ids.Bytes(), MaxStdout: most, Grace: time.Second})
	if err != nil {
		return err
	}
	if out.Exit.Code != 0 || out.Truncated {
		return gitError("cat-file", out.Stderr)
	}
	r := bufio.NewReader(bytes.NewReader(out.Stdout))
	for _, o := range objects {
		if err := s.gitFile(o, r); err != nil {
			return err
		}
	}
	return nil
}

// lfsPointer begins a file whose content is in Git LFS.
var lfsPointer = []byte("version https://git-lfs.github.com/spec/v1\n")

// gitFile writes the next object: "ID TYPE SIZE", the content, a line end.
func (s *sink) gitFile(o object, r *bufio.Reader) error {
	head, err := r.ReadString('\n')
	if fields := strings.Fields(head); err != nil || len(fields) != 3 || fields[0] != o.id || fields[2] != strconv.FormatInt(o.size, 10) {
		return errors.Join(err, fmt.Errorf("git cat-file printed %q", excerpt.Of(head, 80)))
	}
	content := io.LimitReader(r, o.size)
	switch o.mode {
	case "120000":
		target, err := io.ReadAll(content)
		if err == nil {
			err = s.link(o.name, string(target))
		}
		if err != nil {
			return err
		}
	case "100644", "100664", "100755":
		if start, _ := r.Peek(min(len(lfsPointer), int(o.size))); bytes.Equal(start, lfsPointer) {
			s.notes = append(s.notes, o.name+": its content is in Git LFS, and only the pointer to it is here")
		}
		mode := fs.FileMode(0o644)
		if o.mode == "100755" {
			mode = 0o755
		}
		if err := s.file(o.name, mode, content); err != nil {
			return err
		}
	default:
		return hostile(o.name, "git knows no mode "+o.mode)
	}
	_, err = r.Discard(1)
	return err
}

// isRepository reports whether a directory is a git repository without a work tree.
func isRepository(dir string) bool {
	return !slices.ContainsFunc([]string{"HEAD", "objects", "refs"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err != nil
	})
}
