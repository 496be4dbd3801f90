package loop

import (
	"sync"
	"time"
)

// mostPaced is how many a Pace remembers.
const mostPaced = 4096

// Pace lets each of many do something so often at once, and again after so long. It may be used from any goroutine.
type Pace struct {
	atOnce float64
	every  time.Duration

	mu sync.Mutex
	of map[string]*allowance
}

// allowance is how often somebody may do it still.
type allowance struct {
	left float64
	at   time.Time
}

// NewPace returns a pace at which nobody has done anything yet.
func NewPace(atOnce int, every time.Duration) *Pace {
	return &Pace{atOnce: float64(atOnce), every: every, of: map[string]*allowance{}}
}

// Allows takes one from what somebody may do, unless there is nothing left.
func (p *Pace) Allows(who string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.of[who]
	if a == nil {
		p.makeRoom(now)
		a = &allowance{left: p.atOnce, at: now}
		p.of[who] = a
	}
	p.refill(a, now)
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}

func (p *Pace) refill(a *allowance, now time.Time) {
	gained := float64(max(0, now.Sub(a.at))) / float64(p.every)
	a.left, a.at = min(p.atOnce, a.left+gained), now
}

// makeRoom forgets who was silent for long enough to be a stranger again. Where more than are remembered are not, all are
// strangers.
func (p *Pace) makeRoom(now time.Time) {
	if len(p.of) < mostPaced {
		return
	}
	for who, a := range p.of {
		if p.refill(a, now); a.left >= p.atOnce {
			delete(p.of, who)
		}
	}
	if len(p.of) >= mostPaced {
		clear(p.of)
	}
}
