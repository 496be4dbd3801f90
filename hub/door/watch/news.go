package watch

import (
	"context"
	"fmt"
	"sync"

	"flotilla/core/api"
)

// How often one person, or a hub for one kind, may wait for changes at once, all people together, and all hubs: what hubs wait for takes
// nothing from people.
const (
	mostWaiting       = 32
	mostWaitingOfAll  = 2048
	mostWaitingOfHubs = 16384
)

// crowd is who waits: all people, or all hubs.
type crowd struct {
	what      string
	most, all int
}

// news counts changes by topic, and wakes who waits for them.
type news struct {
	over    chan struct{} // closed when nobody is to wait any more
	ending  sync.Once
	mu      sync.Mutex
	count   uint64                            // of all changes
	last    map[string]uint64                 // the newest change of each topic
	waiting map[string]map[chan struct{}]bool // by topic
	each    map[string]int                    // how often each person waits, or a hub for a kind
	people  crowd
	hubs    crowd
}

func newNews() *news {
	return &news{
		over: make(chan struct{}), last: map[string]uint64{}, waiting: map[string]map[chan struct{}]bool{}, each: map[string]int{},
		people: crowd{what: "people", most: mostWaitingOfAll}, hubs: crowd{what: "hubs", most: mostWaitingOfHubs},
	}
}

// tell notes a change that concerns topics.
func (n *news) tell(topics ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	for _, topic := range topics {
		n.last[topic] = n.count
		for wake := range n.waiting[topic] {
			select {
			case wake <- struct{}{}:
			default: // it is about to look
			}
		}
	}
}

// end sends everybody away who waits.
func (n *news) end() { n.ending.Do(func() { close(n.over) }) }

// since says whether any of the topics changed after a count, and returns the count of now.
func (n *news) since(topics []string, after uint64) (now uint64, changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, topic := range topics {
		changed = changed || n.last[topic] > after
	}
	return n.count, changed
}

// wait returns when any of the topics changed after a count, or at the end of ctx.
func (n *news) wait(ctx context.Context, by api.Caller, topics []string, after uint64) (now uint64, changed bool, err error) {
	wake, leave, err := n.enter(by, topics)
	if err != nil {
		return 0, false, err
	}
	defer leave()
	for {
		if now, changed = n.since(topics, after); changed {
			return now, true, nil
		}
		select {
		case <-ctx.Done():
			return now, false, nil
		case <-n.over:
			return 0, false, &api.Failure{Code: api.CodeUnavailable, Message: "this hub does not lead any more: ask again"}
		case <-wake:
		}
	}
}

// enter notes that somebody waits, until leave is called.
func (n *news) enter(by api.Caller, topics []string) (wake chan struct{}, leave func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	among := &n.people
	if by.IsHub() {
		among = &n.hubs
	}
	switch {
	case n.each[by.Name] >= mostWaiting:
		return nil, nil, waitsTooOften(by.Name+" waits", mostWaiting)
	case among.all >= among.most:
		return nil, nil, waitsTooOften("all "+among.what+" together wait", among.most)
	}
	wake = make(chan struct{}, 1)
	among.all++
	n.each[by.Name]++
	for _, topic := range topics {
		if n.waiting[topic] == nil {
			n.waiting[topic] = map[chan struct{}]bool{}
		}
		n.waiting[topic][wake] = true
	}
	return wake, func() { n.leave(by.Name, among, topics, wake) }, nil
}

func waitsTooOften(who string, most int) *api.Failure {
	return &api.Failure{
		Code: api.CodeLimit, Next: "flotilla whoami",
		Message: fmt.Sprintf("%s for changes %d times already, and the hub keeps no more waiting: end a watch, or look without one", who, most),
	}
}

func (n *news) leave(name string, among *crowd, topics []string, wake chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	among.all--
	if n.each[name]--; n.each[name] == 0 {
		delete(n.each, name)
	}
	for _, topic := range topics {
		if delete(n.waiting[topic], wake); len(n.waiting[topic]) == 0 {
			delete(n.waiting, topic)
		}
	}
}
