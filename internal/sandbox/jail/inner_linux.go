package jail

import (
	"runtime"
	"syscall"
)

// inner runs as pid 1 of the jail. It builds the jail, starts the program, and reaps children until
// the program has ended.
func (s *stage) inner() {
	// Init functions run on the first thread. Locking it keeps the runtime from creating new
	// threads from this one, which would inherit its restrictions.
	runtime.LockOSThread()
	ignoreSignals()
	plan, err := s.readPlan()
	if err != nil {
		s.fail(err)
	}
	s.plans = make(chan int, 1)
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
		if plan, err = s.awaitPlan(); err != nil {
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
	syscall.Exit(0) // the kernel then kills every process left in the jail
}

// finishProbe ends a jail that was built only to find out whether it can be.
func (s *stage) finishProbe(plan *Plan) {
	if err := s.restrict(plan); err != nil {
		s.fail(err)
	}
	_ = s.report(Report{Runs: true, Notes: s.notes}, nil)
	syscall.Exit(0)
}

// watchHost ends the jail when the host is gone, which closes the socket: the host holds the only
// other end. In a jail that was built ahead it also receives the plan of the program.
func (s *stage) watchHost() {
	var none [1]byte
	rights := make([]byte, syscall.CmsgSpace(4))
	for {
		n, oob, _, _, err := syscall.Recvmsg(s.control, none[:], rights, syscall.MSG_CMSG_CLOEXEC)
		if n <= 0 && !is(err, syscall.EINTR) {
			syscall.Exit(1)
		}
		if fds, err := parseRights(rights[:oob]); err == nil && len(fds) == 1 {
			s.plans <- fds[0]
		}
	}
}

// receive returns the descriptors that outer opened: one for each mount of the plan, or -1. It
// returns nil if outer had no right to open any.
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
			return nil, textError("outer ended, or its message cannot be decoded")
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

// none returns a list with no descriptor (-1) for each mount.
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

// barLoaders bars the loaders, unless middle has done so. A privileged user with another uid than 0
// gets an error: only uid 0 can write the list.
func (s *stage) barLoaders(plan *Plan, privileged bool) error {
	if plan.needsMiddle(privileged) {
		return nil
	}
	return while(bar(plan.Loaders), StageBar)
}

// build creates the network and the mounts of the jail.
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

// start restricts this thread and starts the program from it.
func (s *stage) start(plan *Plan) (pid int, err error) {
	if err := s.restrict(plan); err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{Dir: plan.Dir, Env: plan.Env, Files: descriptors(3 + s.files)}
	pid, err = syscall.ForkExec(plan.Path, plan.Argv, attr)
	return pid, while(err, StageExec)
}

// execProgram restricts this process and turns it into the program. It replaces start if there are
// no namespaces. Outer calls it before ignoreSignals, so the handling of signals is unchanged.
func (s *stage) execProgram(plan *Plan) {
	if plan.Probe {
		s.finishProbe(plan)
	}
	if err := s.restrict(plan); err != nil {
		s.fail(err)
	}
	if err := syscall.Chdir(plan.Dir); err != nil {
		s.fail(while(err, "enter "+plan.Dir))
	}
	// A successful exec closes the control socket. This report says that everything before the exec
	// succeeded.
	if err := s.report(Report{Runs: true, Notes: s.notes}, nil); err != nil {
		syscall.Exit(1)
	}
	for fd := 3; fd < 3+s.files; fd++ {
		keepOnExec(fd)
	}
	err := syscall.Exec(plan.Path, plan.Argv, plan.Env)
	s.fail(while(err, StageExec))
}

// reap waits for all children until the program has ended.
func reap(program int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case pid == program:
			return status
		case is(err, syscall.ECHILD):
			return status // unreachable: the program is a child of this process until it is reaped
		}
	}
}
