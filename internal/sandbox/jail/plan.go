package jail

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// The names (argv[0]) under which the host's executable is started as the two processes.
const (
	Outer = "patchbay-jail"
	Inner = "patchbay-jail-init"
)

// StageExec is the stage at which the program itself is at fault, not its jail.
const StageExec = "execute"

// maxPlan bounds a plan: some hundred mounts of a few hundred bytes each, and an environment.
const maxPlan = 8 << 20

// Plan is what the jail is to be, worked out by the host to the last detail. It is plain data: what is in it was decided outside.
type Plan struct {
	Path string   // the program, as seen inside
	Argv []string // with argv[0]
	Env  []string
	Dir  string // the working directory, as seen inside

	Files  int  // descriptors the program has beyond the three standard ones; they are 3, 4, … in every stage
	Simple bool // no namespaces: Landlock and seccomp only
	Probe  bool // build everything, start nothing

	Mounts  []Mount // in the order in which they are made: what lies deeper comes later
	Net     Net
	Exec    []string // what may be executed, as seen inside: files, and directories with all below
	Access  []Access // Simple only: what may be touched
	Limits  []Limit
	Sockets bool // the network is there to be used (any): forbid only the kinds of socket that nobody needs
}

// A Mount is one thing to be seen inside.
type Mount struct {
	Kind    Kind
	Source  string `json:",omitempty"` // Bind: the path outside; Link: what it points to
	Target  string // the path inside, clean and absolute
	Write   bool   `json:",omitempty"` // Bind: it may be changed
	Exec    bool   `json:",omitempty"` // Bind: what is in it may be mapped for execution
	Devices bool   `json:",omitempty"` // Bind: it is a device
	Content string `json:",omitempty"` // File
	Size    int64  `json:",omitempty"` // Temp: at most this many bytes
	Missing bool   `json:",omitempty"` // Bind: may be absent, and is then left out
	Lend    bool   `json:",omitempty"` // Bind: files of the host's user are the program's own, also where it runs as another
}

// Kind is what a mount is.
type Kind string

// The kinds.
const (
	Bind Kind = "bind" // a file or directory of the outside
	Temp Kind = "temp" // an empty directory in memory
	Proc Kind = "proc" // the processes of the jail
	Link Kind = "link" // a symbolic link
	File Kind = "file" // a small file with a given content, read-only
	Dir  Kind = "dir"  // an empty directory, read-only
)

// Net is what there is of a network.
type Net struct {
	Shared bool // the host's own
	// Broker: every address is at hand, and every connection ends at a socket that the host holds. Otherwise there is
	// a loopback interface and nothing else.
	Broker   bool
	Loopback []uint16 // ports of 127.0.0.1 and ::1 that lead to the host's; 0: all of them
	Ports    []uint16 // the ports that may be reached, for where there is no redirecting
	AllPorts bool     // some grant names no port: without redirecting it cannot be kept
}

// Access is what a path may be used for where only Landlock can tell.
type Access struct {
	Path  string
	Write bool
	Exec  bool
}

// A Limit is one resource limit, soft and hard.
type Limit struct {
	Resource int
	Cur, Max uint64
}

// A Report is what the jail tells the host over the control socket.
type Report struct {
	Sockets string   `json:",omitempty"` // descriptors come along: "redirect" or "ports"; then one report more follows
	Runs    bool     `json:",omitempty"` // the program was started
	Stage   string   `json:",omitempty"` // what went wrong
	Error   string   `json:",omitempty"`
	Errno   int      `json:",omitempty"`
	Notes   []string `json:",omitempty"` // what is not as planned
}

// Encode writes a plan.
func (p *Plan) Encode() ([]byte, error) { return json.Marshal(p) }

// ReadPlan reads a plan from the beginning of a file.
func ReadPlan(f *os.File) (*Plan, error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxPlan))
	if err != nil {
		return nil, err
	}
	plan := new(Plan)
	if err := json.Unmarshal(text, plan); err != nil {
		return nil, fmt.Errorf("the plan: %w", err)
	}
	return plan, nil
}
