package loop

import (
	"context"
	"errors"
	"sync"
)

// ErrCrowded says that too many wait in a lane already.
var ErrCrowded = errors.New("too many wait already")

// Lanes let a few goroutines of each name work at once, so that whoever has much to do waits for themselves alone. The numbers
// are set before the first use. Its methods may be called from any goroutine.
type Lanes struct {
	// Wide is how many of one name work at once, Most how many work or wait; 0 is any number.
	Wide, Most int

	mu sync.Mutex
	of map[string]*lane
}

type lane struct {
	slots chan struct{}
	users int // who works, and who waits
}

// Take waits until one more of a name may work; leave says that it has. The error is ErrCrowded, or why ctx ended.
func (l *Lanes) Take(ctx context.Context, name string) (leave func(), err error) {
	mine, room := l.enter(name)
	if !room {
		return nil, ErrCrowded
	}
	select {
	case mine.slots <- struct{}{}:
		return func() { <-mine.slots; l.leave(name) }, nil
	case <-ctx.Done():
		l.leave(name)
		return nil, context.Cause(ctx)
	}
}

// Try is Take that does not wait; false: others of the name work.
func (l *Lanes) Try(name string) (leave func(), free bool) {
	mine, room := l.enter(name)
	if !room {
		return nil, false
	}
	select {
	case mine.slots <- struct{}{}:
		return func() { <-mine.slots; l.leave(name) }, true
	default:
		l.leave(name)
		return nil, false
	}
}

func (l *Lanes) enter(name string) (mine *lane, room bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]*lane{}
	}
	mine = l.of[name]
	if mine == nil {
		mine = &lane{slots: make(chan struct{}, l.Wide)}
		l.of[name] = mine
	}
	if l.Most > 0 && mine.users >= l.Most {
		return nil, false
	}
	mine.users++
	return mine, true
}

func (l *Lanes) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.of[name]
	if mine.users--; mine.users == 0 {
		delete(l.of, name)
	}
}
