package jail

import "syscall"

// init turns a process that bears the mark into one of the jail's, before any main can run. See the
// package comment for why this is an init function, and why it looks for a variable and not at its
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

// ExitMisused is the exit code of a process with a mark that nobody planned, or one of another
// [Protocol].
const ExitMisused = 3

// maxFiles bounds the descriptors of a program; the host passes a handful.
const maxFiles = 1 << 10

// parseMark takes a mark apart: which process this is, and how many descriptors the program has.
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

// cut is what comes before and after the first of a separator.
func cut(s string, separator byte) (before, after string) {
	for i := range len(s) {
		if s[i] == separator {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// stage is one of the processes.
type stage struct {
	files   int // descriptors of the program beyond the standard ones
	control int // the socket to the host
	plan    int // the file with the plan
	link    int // inner's socket to whoever cloned it
	notes   []string

	// Of inner, where it is built ahead.
	orders chan int          // the file with the plan of the program
	seen   []Identity        // what was bound
	placed map[string]uint64 // which mount was put where
}

// A fault is what went wrong, and while doing what.
type fault struct {
	stage string
	err   error
}

func (f *fault) Error() string { return f.stage + ": " + f.err.Error() }

// wrong is an error that is not the kernel's.
type wrong string

func (w wrong) Error() string { return string(w) }

// while names what was being done when an error came.
func while(err error, stage string) error {
	if err == nil {
		return nil
	}
	return &fault{stage: stage, err: err}
}

// blame is what the host is told of an error.
func blame(err error) Report {
	r := Report{Error: err.Error()}
	if f, ok := err.(*fault); ok { //nolint:errorlint // nothing in here wraps it
		r.Stage, r.Error = f.stage, f.err.Error()
	}
	for {
		switch e := err.(type) { //nolint:errorlint // it is what unwraps
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

// fail tells the host what went wrong and ends the process. A host that is not there any more need
// not be told.
func (s *stage) fail(err error) {
	_ = s.report(blame(err), nil)
	syscall.Exit(1)
}

// report sends one message to the host, with descriptors where it has some.
func (s *stage) report(r Report, fds []int) error { return sendMessage(s.control, r.Encode(), fds) }

// sendMessage sends one datagram with descriptors.
func sendMessage(socket int, message []byte, fds []int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	return syscall.Sendmsg(socket, message, rights, nil, syscall.MSG_NOSIGNAL)
}

// maxPlan bounds a plan: some hundred mounts of a few hundred bytes each, and an environment.
const maxPlan = 8 << 20

// readPlan reads the plan from the beginning of its file: both processes do, by one descriptor.
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
		return nil, while(wrong("it is none"), "read the plan")
	}
	return plan, nil
}

// orElse is an error, or another where there is none.
func orElse(err error, other syscall.Errno) error {
	if err != nil {
		return err
	}
	return other
}

// ignoreSignals leaves those that a host or a terminal sends to the group to the program. What is
// ignored stays so in what is executed, but Go gives to what it starts the default for every signal
// that it handles itself, and these are such.
func ignoreSignals() {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		setSignal(s, sigIgnore)
	}
}

// endAs ends this process the way another one ended.
func endAs(status syscall.WaitStatus) {
	if !status.Signaled() {
		syscall.Exit(status.ExitStatus())
	}
	_ = noCore() // of this process, which would say nothing of that one
	setSignal(status.Signal(), sigDefault)
	_ = syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), status.Signal())
	syscall.Exit(128 + int(status.Signal())) // a signal that does not end us
}
