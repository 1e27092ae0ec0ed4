package proc

import "os"

// pipes are the three pipes of one child. child holds the child's ends, in the order of its
// descriptors.
type pipes struct {
	stdin, stdout, stderr *os.File // the host's ends; pollable, so that deadlines work
	child                 [3]*os.File
}

func openPipes() (*pipes, error) {
	p := new(pipes)
	var errs [3]error
	p.child[0], p.stdin, errs[0] = pipeToChild()
	p.stdout, p.child[1], errs[1] = pipeFromChild()
	p.stderr, p.child[2], errs[2] = pipeFromChild()
	for _, err := range errs {
		if err != nil {
			p.closeChild()
			p.closeHost()
			return nil, err
		}
	}
	return p, nil
}

func (p *pipes) closeChild() { closeAll(p.child[:]...) }

func (p *pipes) closeHost() { closeAll(p.stdin, p.stdout, p.stderr) }

// closeAll closes files. Closing a nil file, one that was never opened, does nothing.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
