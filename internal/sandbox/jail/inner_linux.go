package jail

import (
	"encoding/json"
	"errors"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// inner is pid 1 of the jail: it builds it, starts the program, and reaps until that has ended.
func (s *stage) inner() {
	link := 5 + s.files
	plan, err := ReadPlan(s.plan)
	if err != nil {
		s.fail(err)
	}
	go s.watchHost()
	trees, err := s.receive(link)
	if err != nil {
		s.fail(while(err, "take over mounts"))
	}
	if err := s.build(plan, trees); err != nil {
		s.fail(err)
	}
	if plan.Probe {
		s.finishProbe(plan)
	}
	program, err := s.start(plan)
	if err != nil {
		s.fail(err)
	}
	if err := s.report(Report{Runs: true, Notes: s.notes}); err != nil {
		syscall.Exit(1) // the host is gone
	}
	status := reap(program)
	_ = sendMessage(link, []byte(strconv.Itoa(int(status))), nil)
	syscall.Exit(0) // the kernel kills whatever is left in here
}

// finishProbe ends a jail that was built only to see whether it can be.
func (s *stage) finishProbe(plan *Plan) {
	if err := s.restrict(plan); err != nil {
		s.fail(err)
	}
	_ = s.report(Report{Runs: true, Notes: s.notes})
	syscall.Exit(0)
}

// watchHost ends the jail when the host is gone: it holds the only other end.
func (s *stage) watchHost() {
	var none [1]byte
	for {
		n, err := unix.Read(s.control, none[:])
		if n <= 0 && !errors.Is(err, unix.EINTR) {
			syscall.Exit(1)
		}
	}
}

// receive takes what outer opened, by the number of the mount; nil: nothing was, for lack of rights.
func (s *stage) receive(link int) (map[int]int, error) {
	trees := make(map[int]int)
	text, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*maxRights))
	for {
		n, oob, _, _, err := unix.Recvmsg(link, text, rights, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var m supplied
		if err := json.Unmarshal(text[:n], &m); err != nil {
			return nil, err
		}
		if !m.Opened {
			return nil, nil
		}
		fds, err := parseRights(rights[:oob])
		if err != nil || len(fds) != len(m.Mounts) {
			return nil, errors.Join(err, errors.New("a message was cut"))
		}
		for i, mount := range m.Mounts {
			trees[mount] = fds[i]
		}
		s.notes = append(s.notes, m.Notes...)
		if m.Last {
			return trees, nil
		}
	}
}

func parseRights(oob []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return unix.ParseUnixRights(&messages[0])
}

// build makes the network and the files of the jail.
func (s *stage) build(plan *Plan, trees map[int]int) error {
	if !plan.Net.Shared {
		if err := s.network(plan.Net); err != nil {
			return err
		}
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return while(err, "name the host")
	}
	return s.mounts(plan.Mounts, trees)
}

// start gives up the rights of this thread and starts the program from it.
func (s *stage) start(plan *Plan) (pid int, err error) {
	if err := s.restrict(plan); err != nil {
		return 0, err
	}
	files := make([]uintptr, 3+s.files)
	for i := range files {
		files[i] = uintptr(i)
	}
	pid, err = syscall.ForkExec(plan.Path, plan.Argv, &syscall.ProcAttr{Dir: plan.Dir, Env: plan.Env, Files: files})
	return pid, while(err, StageExec)
}

// become is start without namespaces: this process turns into the program.
func (s *stage) become(plan *Plan) {
	if plan.Probe {
		s.finishProbe(plan)
	}
	if err := s.restrict(plan); err != nil {
		s.fail(err)
	}
	if err := unix.Chdir(plan.Dir); err != nil {
		s.fail(while(err, "enter %s", plan.Dir))
	}
	// The control socket closes with a successful execution; the word before it says that all else went well.
	if err := s.report(Report{Runs: true, Notes: s.notes}); err != nil {
		syscall.Exit(1)
	}
	for fd := 3; fd < 3+s.files; fd++ {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
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
		case errors.Is(err, syscall.ECHILD):
			return status // unreachable: the program is our child until it is reaped
		}
	}
}
