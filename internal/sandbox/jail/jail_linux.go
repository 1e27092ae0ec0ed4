package jail

import "syscall"

// init turns a process with the mark into one of the jail's processes, before main can run. See the
// package comment for why this is an init function, and why it reads a variable and not its
// arguments.
func init() {
	mark, marked := syscall.Getenv(Mark)
	if !marked {
		return
	}
	name, files, ok := parseMark(mark)
	if !ok {
		syscall.Exit(ExitMisused)
	}
	closeOnExec(3)
	s := &stage{files: files, control: 3 + files, plan: 4 + files, link: 5 + files}
	switch name {
	case Outer:
		s.outer()
	case Middle:
		s.middle()
	default:
		s.inner()
	}
}

// ExitMisused is the exit code of a process whose mark is malformed or of another [Protocol].
const ExitMisused = 3

// maxFiles bounds the descriptors of a program. The host passes only a few.
const maxFiles = 1 << 10

// parseMark parses a mark into the name of the process and the number of the program's descriptors.
func parseMark(mark string) (name string, files int, ok bool) {
	name, rest := cut(mark, ':')
	protocol, digits := cut(rest, ':')
	if name != Outer && name != Middle && name != Inner || protocol != Protocol || digits == "" {
		return "", 0, false
	}
	for _, d := range []byte(digits) {
		if files = files*10 + int(d-'0'); d < '0' || d > '9' || files > maxFiles {
			return "", 0, false
		}
	}
	return name, files, true
}

// cut splits s around the first separator.
func cut(s string, separator byte) (before, after string) {
	for i := range len(s) {
		if s[i] == separator {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// A stage is one of the jail's processes.
type stage struct {
	files   int // descriptors of the program beyond the standard ones
	control int // the socket to the host
	plan    int // the file with the plan
	link    int // inner's socket to the process that cloned it
	notes   []string

	// Only inner uses the rest, if the jail is built ahead.
	plans  chan int          // receives the descriptor of the program's plan
	seen   []Identity        // the files that were bound
	placed map[string]uint64 // the id of the mount at each target
}

// A fault is an error together with the step that failed.
type fault struct {
	stage string
	err   error
}

func (f *fault) Error() string { return f.stage + ": " + f.err.Error() }

// textError is an error that does not come from the kernel.
type textError string

func (w textError) Error() string { return string(w) }

// while adds the step that failed to an error.
func while(err error, stage string) error {
	if err == nil {
		return nil
	}
	return &fault{stage: stage, err: err}
}

// reportOf turns an error into a report for the host.
func reportOf(err error) Report {
	r := Report{Error: err.Error()}
	if f, ok := err.(*fault); ok { //nolint:errorlint // nothing in here wraps it
		r.Stage, r.Error = f.stage, f.err.Error()
	}
	for {
		switch e := err.(type) { //nolint:errorlint // this loop unwraps the errors itself
		case *fault:
			err = e.err
		case syscall.Errno:
			r.Errno = int(e)
			return r
		default:
			return r
		}
	}
}

// fail reports an error to the host and ends the process. If the host is gone, the report is lost.
func (s *stage) fail(err error) {
	_ = s.report(reportOf(err), nil)
	syscall.Exit(1)
}

// report sends a message to the host, with descriptors if there are any.
func (s *stage) report(r Report, fds []int) error { return sendMessage(s.control, r.Encode(), fds) }

// sendMessage sends one message with descriptors.
func sendMessage(socket int, message []byte, fds []int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	return syscall.Sendmsg(socket, message, rights, nil, syscall.MSG_NOSIGNAL)
}

// maxPlan bounds the size of a plan: some hundred mounts of a few hundred bytes each, and an
// environment.
const maxPlan = 8 << 20

// readPlan reads the plan from the beginning of its file. The processes share one descriptor, so it
// does not use the file's offset.
func (s *stage) readPlan() (*Plan, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(s.plan, &stat); err != nil {
		return nil, while(err, "read the plan")
	}
	if stat.Size > maxPlan {
		return nil, while(syscall.EFBIG, "read the plan")
	}
	data := make([]byte, stat.Size)
	for at := 0; at < len(data); {
		n, err := syscall.Pread(s.plan, data[at:], int64(at))
		if err != nil || n == 0 {
			return nil, while(orElse(err, syscall.EIO), "read the plan")
		}
		at += n
	}
	plan, ok := DecodePlan(data)
	if !ok {
		return nil, while(textError("not a plan"), "read the plan")
	}
	return plan, nil
}

// orElse returns err, or other if err is nil.
func orElse(err error, other syscall.Errno) error {
	if err != nil {
		return err
	}
	return other
}

// ignoreSignals ignores the signals that a host or a terminal sends to the process group, and so
// leaves them to the program. Ignored signals stay ignored across exec, but Go restores the default
// in a child for each signal that it handles itself, and it handles these.
func ignoreSignals() {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		setSignal(s, sigIgnore)
	}
}

// endAs ends this process in the same way as another process ended.
func endAs(status syscall.WaitStatus) {
	if !status.Signaled() {
		syscall.Exit(status.ExitStatus())
	}
	_ = noCore() // a core of this process would not show the memory of the other one
	setSignal(status.Signal(), sigDefault)
	_ = syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), status.Signal())
	syscall.Exit(128 + int(status.Signal())) // the signal did not end this process
}
