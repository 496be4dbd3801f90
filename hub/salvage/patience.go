package salvage

import (
	"sync"
	"time"
)

// patience is for how long a hub that could lead waits for the next step of a restore.
type patience struct {
	usual time.Duration
	heard chan struct{} // receives when the wait begins anew

	mu    sync.Mutex
	wait  time.Duration
	steps int  // that are worked on
	over  bool // no step is taken any more
}

func newPatience(usual time.Duration) *patience {
	return &patience{usual: usual, wait: usual, heard: make(chan struct{}, 1)}
}

// begin takes a step, which ends by end; false where none is taken any more.
func (p *patience) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.steps++
		p.anew(p.usual)
	}
	return !p.over
}

// end ends a step. After one that was refused the hub waits no longer than it takes to be asked the same again: a restore does not go on after
// that, and others wait to write.
func (p *patience) end(refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps--
	if refused {
		p.anew(min(lingers, p.usual))
		return
	}
	p.anew(p.usual)
}

func (p *patience) anew(wait time.Duration) {
	p.wait = wait
	select {
	case p.heard <- struct{}{}:
	default:
	}
}

// left is how long to wait from now.
func (p *patience) left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wait
}

// giveUp takes no step any more, unless one is worked on or came meanwhile.
func (p *patience) giveUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = p.steps == 0 && len(p.heard) == 0
	return p.over
}
