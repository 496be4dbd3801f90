package nodes

import (
	"maps"
	"sync"
	"time"
)

// A provider that was asked in vain is asked again after the first of these, doubling to the second when
// it is not done yet, and to the third when it cannot be asked.
const (
	firstAsk   = 100 * time.Millisecond
	longestAsk = 5 * time.Second
	longestErr = 30 * time.Second
)

// asks is how often the provider was asked in vain about each launch, be it for the launch or for the node
// that came of it. What wakes either in between does not shorten the wait. Nothing of it must outlive the
// process.
type asks struct {
	mu     sync.Mutex
	byName map[string]ask
	taken  map[string]bool // launches that the provider is being asked about
}

// ask is how often the provider was asked in vain about one thing.
type ask struct {
	why   string // why it could not be asked, empty when it could
	wait  time.Duration
	again time.Time
}

// failed notes that the provider was asked in vain, and returns when to ask again.
func (a *ask) failed(err error, now time.Time) time.Time {
	why, most := "", longestAsk
	if err != nil {
		why, most = err.Error(), longestErr
	}
	wait := min(max(firstAsk, 2*a.wait), most)
	*a = ask{why, wait, now.Add(wait)}
	return a.again
}

func newAsks() *asks { return &asks{byName: map[string]ask{}, taken: map[string]bool{}} }

// take takes the turn to ask about a launch, or about the machine of its node, until leave; false while it
// is taken. A machine of no launch, name "", is asked about in one place only.
func (a *asks) take(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if name == "" {
		return true
	}
	if a.taken[name] {
		return false
	}
	a.taken[name] = true
	return true
}

func (a *asks) leave(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.taken, name)
}

// of is how often the provider was asked in vain about a launch.
func (a *asks) of(name string) ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byName[name]
}

// put notes how often it was asked in vain about the node of a launch.
func (a *asks) put(name string, one ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if name != "" {
		a.byName[name] = one
	}
}

// failed notes that the provider was asked in vain about a launch, and returns when to ask again.
func (a *asks) failed(name string, err error, now time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.byName[name]
	again := one.failed(err, now)
	a.byName[name] = one
	return again
}

// over notes that the provider answered.
func (a *asks) over(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byName, name)
}

// again is when to ask about a launch, zero when it was not asked in vain.
func (a *asks) again(name string) time.Time { return a.of(name).again }

// why is why the provider could not be asked about a launch, empty when it could.
func (a *asks) why(name string) string { return a.of(name).why }

// keep forgets the launches that are over.
func (a *asks) keep(l *ledger) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.byName, func(name string, _ ask) bool {
		_, there := l.launch(name)
		return !there
	})
}
