package proc

import "sync"

// maxPrograms bounds what is remembered about program files; beyond it all is forgotten and learnt again.
const maxPrograms = 1024

// program is what a start needs to know of a file's content and rights.
type program struct {
	line       hashBang // its #! line, if it has one
	privileged bool     // the kernel gives it more rights than the host has
}

// programs remembers program files, each as long as it is the same file and unchanged: reading a file at each start would
// cost more than all the rest that is added to a bare spawn.
type programs struct {
	mu    sync.Mutex // protects known
	known map[string]knownProgram
}

type knownProgram struct {
	id identity
	program
}

// look returns what is to be known of a file, from memory where it has not changed.
func (p *programs) look(file string) program {
	id, ok := identify(file)
	if !ok {
		return readProgram(file)
	}
	p.mu.Lock()
	known := p.known[file]
	p.mu.Unlock()
	if known.id == id {
		return known.program
	}
	known = knownProgram{id: id, program: readProgram(file)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxPrograms {
		p.known = make(map[string]knownProgram)
	}
	p.known[file] = known
	return known.program
}

func readProgram(file string) program {
	return program{line: interpreterLine(readHead(file)), privileged: gainsPrivileges(file)}
}
