package escape

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	ipcKey    = 0x70617463 // of the System V objects; the ipc namespace is the arena's own
	ipcCreate = 0o1000 | 0o666
)

// shared holds the objects that the host shares with other processes of the machine.
type shared struct {
	name      string // of the POSIX objects
	semaphore int    // the value of the semaphore
	memory    []byte // the host's own: the secret at 0, and at victimAt a value that must not change
	key       int    // a key's serial number
	named     int    // the same of a key whose name is the secret
}

const (
	victimAt   = 64
	victimText = "as it was"
)

// share creates one object of each kind. They end with the arena, except the keys, which close
// removes.
func share(secret, stray string) (*shared, error) {
	s := &shared{name: "shared." + stray, semaphore: 1000 + os.Getpid()%20000}
	for _, step := range []func(string) error{s.sysvMemory, s.sysvQueue, s.sysvSemaphore, s.posixMemory, s.posixQueue, s.ownMemory, s.keyring} {
		if err := step(secret); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *shared) sysvMemory(secret string) error {
	id, err := unix.SysvShmGet(ipcKey, 4096, ipcCreate)
	if err != nil {
		return fmt.Errorf("shmget: %w", err)
	}
	m, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return fmt.Errorf("shmat: %w", err)
	}
	copy(m, secret)
	return nil
}

// sysvQueue sends enough messages for every attempt to take one.
func (s *shared) sysvQueue(secret string) error {
	id, _, errno := unix.Syscall(unix.SYS_MSGGET, ipcKey, ipcCreate, 0)
	if errno != 0 {
		return fmt.Errorf("msgget: %w", errno)
	}
	message := append(binary.NativeEndian.AppendUint64(nil, 1), secret...)
	for range 8 {
		if _, _, errno := unix.Syscall6(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&message[0])), uintptr(len(secret)), 0, 0, 0); errno != 0 {
			return fmt.Errorf("msgsnd: %w", errno)
		}
	}
	return nil
}

func (s *shared) sysvSemaphore(string) error {
	const setval = 16
	id, _, errno := unix.Syscall(unix.SYS_SEMGET, ipcKey, 1, ipcCreate)
	if errno == 0 {
		_, _, errno = unix.Syscall6(unix.SYS_SEMCTL, id, 0, setval, uintptr(s.semaphore), 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("semaphore: %w", errno)
	}
	return nil
}

func (s *shared) posixMemory(secret string) error {
	return os.WriteFile("/dev/shm/"+s.name, []byte(secret), 0o644)
}

func (s *shared) posixQueue(secret string) error {
	name, err := unix.BytePtrFromString(s.name)
	if err != nil {
		return err
	}
	id, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o666, 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("mq_open: %w", errno)
	}
	text := []byte(secret)
	for range 8 {
		if _, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDSEND, id, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0, 0); errno != 0 {
			return fmt.Errorf("mq_send: %w", errno)
		}
	}
	return nil
}

// ownMemory maps a page of the host that stays at its address.
func (s *shared) ownMemory(secret string) (err error) {
	if s.memory, err = unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
		return err
	}
	copy(s.memory, secret)
	copy(s.memory[victimAt:], victimText)
	return nil
}

// keyring adds a key to the user's keyring, which every process of the user can read.
func (s *shared) keyring(secret string) (err error) {
	if s.key, err = addKey(s.name, secret); err != nil {
		return err
	}
	s.named, err = addKey(secret, secret)
	return err
}

func addKey(name, secret string) (int, error) {
	key, err := unix.AddKey("user", name, []byte(secret), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return 0, fmt.Errorf("add_key: %w", err)
	}
	return key, unix.KeyctlSetperm(key, 0x3f3f0000) // all rights for its possessor and its user
}

// close removes the keys, because keyrings are in no namespace of the arena.
func (s *shared) close() error {
	_, err := unix.KeyctlInt(unix.KEYCTL_UNLINK, s.key, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	_, err2 := unix.KeyctlInt(unix.KEYCTL_UNLINK, s.named, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	return errors.Join(err, err2)
}

func (s *shared) changed() []string {
	var found []string
	if string(s.memory[victimAt:victimAt+len(victimText)]) != victimText {
		found = append(found, "the host's memory")
		copy(s.memory[victimAt:], victimText)
	}
	if text, err := os.ReadFile("/dev/shm/" + s.name + ".victim"); err == nil {
		found = append(found, fmt.Sprintf("shared memory: %q", text))
		_ = os.Remove("/dev/shm/" + s.name + ".victim")
	}
	return found
}
