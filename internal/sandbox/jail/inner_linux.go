package jail

import (
	"runtime"
	"syscall"
)

// inner is pid 1 of the jail: it builds it, starts the program, and reaps until that has ended.
func (s *stage) inner() {
	// Init functions run on the process's first thread, and on no other. What this is for: new
	// threads are not to come of this one, whose restrictions they would have.
	runtime.LockOSThread()
	ignoreSignals()
	plan, err := s.readPlan()
	if err != nil {
		s.fail(err)
	}
	s.orders = make(chan int, 1)
	go s.watchHost()
	trees, err := s.receive(len(plan.Mounts))
	if err != nil {
		s.fail(while(err, "take over mounts"))
	}
	if err := s.barLoaders(plan, trees != nil); err != nil {
		s.fail(err)
	}
	if err := s.build(plan, trees); err != nil {
		s.fail(err)
	}
	if plan.Probe {
		s.finishProbe(plan)
	}
	if plan.Ahead {
		if plan, err = s.awaitOrder(); err != nil {
			s.fail(err)
		}
	}
	program, err := s.start(plan)
	if err != nil {
		s.fail(err)
	}
	if err := s.report(Report{Runs: true, Notes: s.notes}, nil); err != nil {
		syscall.Exit(1) // the host is gone
	}
	status := reap(program)
	_ = sendMessage(s.link, encode(&ended{uint32(status)}), nil)
	syscall.Exit(0) // the kernel kills whatever is left in here
}

// finishProbe ends a jail that was built only to see whether it can be.
func (s *stage) finishProbe(plan *Plan) {
	if err := s.restrict(plan); err != nil {
		s.fail(err)
	}
	_ = s.report(Report{Runs: true, Notes: s.notes}, nil)
	syscall.Exit(0)
}

// watchHost ends the jail when the host is gone: it holds the only other end. It takes the plan
// that comes where one was built ahead.
func (s *stage) watchHost() {
	var none [1]byte
	rights := make([]byte, syscall.CmsgSpace(4))
	for {
		n, oob, _, _, err := syscall.Recvmsg(s.control, none[:], rights, syscall.MSG_CMSG_CLOEXEC)
		if n <= 0 && !is(err, syscall.EINTR) {
			syscall.Exit(1)
		}
		if fds, err := parseRights(rights[:oob]); err == nil && len(fds) == 1 {
			s.orders <- fds[0]
		}
	}
}

// receive takes what outer opened: for each mount of the plan a descriptor, or -1; nil: nothing was
// opened, for lack of rights.
func (s *stage) receive(mounts int) ([]int, error) {
	trees := none(mounts)
	data, rights := make([]byte, 64<<10), make([]byte, syscall.CmsgSpace(4*maxRights))
	for {
		n, oob, _, _, err := syscall.Recvmsg(s.link, data, rights, syscall.MSG_CMSG_CLOEXEC)
		if is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var m supplied
		if !decode(data[:n], &m) {
			return nil, wrong("outer ended, or cannot be understood")
		}
		if !m.opened {
			return nil, nil
		}
		fds, err := parseRights(rights[:oob])
		if err != nil || len(fds) != len(m.mounts) {
			return nil, orElse(err, syscall.EMSGSIZE)
		}
		for i, mount := range m.mounts {
			if mount >= mounts {
				return nil, syscall.EBADMSG
			}
			trees[mount] = fds[i]
		}
		s.notes = append(s.notes, m.notes...)
		if m.last {
			return trees, nil
		}
	}
}

// none is no descriptor for any of so many mounts.
func none(mounts int) []int {
	trees := make([]int, mounts)
	for i := range trees {
		trees[i] = -1
	}
	return trees
}

func parseRights(oob []byte) ([]int, error) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return syscall.ParseUnixRights(&messages[0])
}

// barLoaders bars them, unless middle has done so. Who is privileged and not uid 0 is refused: the
// list is not his.
func (s *stage) barLoaders(plan *Plan, privileged bool) error {
	if plan.between(privileged) {
		return nil
	}
	return while(bar(plan.Loaders), StageBar)
}

// build makes the network and the files of the jail.
func (s *stage) build(plan *Plan, trees []int) error {
	if !plan.Net.Shared {
		if err := s.network(&plan.Net); err != nil {
			return err
		}
	}
	if err := syscall.Sethostname([]byte("sandbox")); err != nil {
		return while(err, "name the host")
	}
	return s.mounts(plan, trees)
}

// start gives up the rights of this thread and starts the program from it.
func (s *stage) start(plan *Plan) (pid int, err error) {
	if err := s.restrict(plan); err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{Dir: plan.Dir, Env: plan.Env, Files: descriptors(3 + s.files)}
	pid, err = syscall.ForkExec(plan.Path, plan.Argv, attr)
	return pid, while(err, StageExec)
}

// become is start without namespaces: this process turns into the program. It has not touched its
// signals.
func (s *stage) become(plan *Plan) {
	if plan.Probe {
		s.finishProbe(plan)
	}
	if err := s.restrict(plan); err != nil {
		s.fail(err)
	}
	if err := syscall.Chdir(plan.Dir); err != nil {
		s.fail(while(err, "enter "+plan.Dir))
	}
	// The control socket closes with a successful execution; the word before it says that all else
	// went well.
	if err := s.report(Report{Runs: true, Notes: s.notes}, nil); err != nil {
		syscall.Exit(1)
	}
	for fd := 3; fd < 3+s.files; fd++ {
		keepOnExec(fd)
	}
	err := syscall.Exec(plan.Path, plan.Argv, plan.Env)
	s.fail(while(err, StageExec))
}

// reap waits for every child until the program itself has ended.
func reap(program int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case pid == program:
			return status
		case is(err, syscall.ECHILD):
			return status // unreachable: the program is our child until it is reaped
		}
	}
}
