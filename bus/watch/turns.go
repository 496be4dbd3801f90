package watch

import (
	"context"
	"sync"
	"time"
)

// restShare bounds what one member takes of the hub: a member whose messages took some time to take in
// rests for so many times that.
const (
	restShare = 4
	mostRest  = time.Second
)

// turns bring what members write to whoever decodes it: member by member in turn, of each key the newest
// message only. A member that writes much waits for itself and for no other. The feed's lock is held by
// whoever calls, but for run.
type turns struct {
	take func(Message)
	wake chan struct{}
	now  func() time.Time

	mu    sync.Mutex // guards what follows; never held while take is called
	lines map[string]*line
	ring  []string // members in lines, next first
}

// line is what waits of a member.
type line struct {
	keys   []string // first come first
	newest map[string]Message
	rests  time.Time // until then
}

func newTurns(take func(Message)) *turns {
	return &turns{take: take, wake: make(chan struct{}, 1), now: time.Now, lines: map[string]*line{}}
}

// add has a message of a member wait for its turn, in the place of an older one of its key.
func (t *turns) add(member string, m Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[member]
	if l == nil {
		l = &line{newest: map[string]Message{}}
		t.lines[member] = l
		t.ring = append(t.ring, member)
	}
	if _, waits := l.newest[m.Key]; !waits {
		l.keys = append(l.keys, m.Key)
	}
	l.newest[m.Key] = m
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// hasten takes in what waits of a key.
func (t *turns) hasten(member, key string) {
	t.mu.Lock()
	var m Message
	l, ok := t.lines[member]
	if ok {
		if m, ok = l.newest[key]; ok {
			delete(l.newest, key)
		}
	}
	t.mu.Unlock()
	if ok {
		t.take(m)
	}
}

// drain takes in all that waits.
func (t *turns) drain() {
	for {
		_, m, ok, wait := t.next(time.Time{})
		if !ok && wait == 0 {
			return
		}
		if ok {
			t.take(m)
		}
	}
}

// next takes the next message out of the lines; without one it says how long to wait, 0 when nothing does.
// The zero time lets nobody rest.
func (t *turns) next(now time.Time) (member string, m Message, ok bool, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range len(t.ring) {
		member = t.ring[0]
		t.ring = t.ring[1:]
		l := t.lines[member]
		if rest := l.rests.Sub(now); !now.IsZero() && rest > 0 {
			t.ring = append(t.ring, member)
			if wait == 0 || rest < wait {
				wait = rest
			}
			continue
		}
		if m, ok = l.pop(); ok {
			t.ring = append(t.ring, member)
			return member, m, true, 0
		}
		delete(t.lines, member)
	}
	return "", Message{}, false, wait
}

func (l *line) pop() (Message, bool) {
	for len(l.keys) > 0 {
		key := l.keys[0]
		l.keys = l.keys[1:]
		if m, ok := l.newest[key]; ok {
			delete(l.newest, key)
			return m, true
		}
	}
	return Message{}, false
}

// rest has a member wait for as long as its message was worth.
func (t *turns) rest(member string, took time.Duration, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.lines[member]; l != nil {
		l.rests = now.Add(min(restShare*took, mostRest))
	}
}

// run takes in what waits, until ctx ends; lock is the feed's.
func (t *turns) run(ctx context.Context, lock sync.Locker) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-timer.C:
		}
		wait, more := time.Duration(0), true
		for more && ctx.Err() == nil {
			more, wait = t.one(lock)
		}
		if wait > 0 {
			timer.Reset(wait)
		}
	}
}

// one takes in one message.
func (t *turns) one(lock sync.Locker) (more bool, wait time.Duration) {
	lock.Lock()
	defer lock.Unlock()
	began := t.now()
	member, m, ok, wait := t.next(began)
	if !ok {
		return false, wait
	}
	t.take(m)
	ended := t.now()
	t.rest(member, ended.Sub(began), ended)
	return true, 0
}
