package server

import (
	"slices"
	"sync"
	"time"

	"flotilla/subjects"
)

// What one user may hold: several times what an agent, or a person with many terminals, needs. Each subscription to a subject has what
// is sent there sent once more, so the two together bound by how much a user multiplies what others say.
const (
	AgentConnections    = 4
	AgentSubscriptions  = 16
	PersonConnections   = 64
	PersonSubscriptions = 32
)

// mostHeld is how many connections one user of an account may hold; those of other accounts are the fleet's own.
var mostHeld = map[string]int{subjects.AccountAgents: AgentConnections, subjects.AccountPeople: PersonConnections}

// cutLately is for how long a user counts as one who holds too much after a connection of theirs was cut.
const cutLately = 10 * time.Second

// connection is one of a server, by the id of each.
type connection struct {
	server string
	id     uint64
}

// arrival is a connection that was opened, by whom.
type arrival struct {
	account   string // its name
	user, jwt string
	opened
}

// opened is when a connection was opened.
type opened struct {
	at    connection
	since time.Time
}

// crowd are the connections of users. Its methods may be called from any goroutine.
type crowd struct {
	mu    sync.Mutex
	users map[string]*holder // by public key
	kick  func([]connection) // nil while nobody can have connections cut
}

func newCrowd() *crowd { return &crowd{users: map[string]*holder{}} }

// holder is a user who is connected.
type holder struct {
	account, name string
	open          []opened  // the oldest first
	cut           time.Time // when one was cut last
}

func (h *holder) told() Holder { return Holder{Account: h.account, Name: h.name, Open: len(h.open)} }

// came takes note of a connection, and returns those that its user holds beyond what they may: the oldest, as an agent that lost its
// connection makes another before servers notice.
func (c *crowd) came(a arrival, now time.Time) (beyond []connection) {
	most := mostHeld[a.account]
	if most == 0 || a.user == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.users[a.user]
	if h == nil {
		h = &holder{account: a.account, name: nameIn(a.jwt)}
		c.users[a.user] = h
	}
	if slices.ContainsFunc(h.open, func(o opened) bool { return o.at == a.at }) {
		return nil
	}
	h.open = append(h.open, a.opened)
	slices.SortStableFunc(h.open, func(a, b opened) int { return a.since.Compare(b.since) }) // as they were opened, not as they were heard of
	for len(h.open) > most {
		beyond, h.cut = append(beyond, h.open[0].at), now
		h.open = slices.Delete(h.open, 0, 1)
	}
	return beyond
}

// left takes note of a connection that was closed.
func (c *crowd) left(user string, at connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.users[user]
	if h == nil {
		return
	}
	h.open = slices.DeleteFunc(h.open, func(o opened) bool { return o.at == at })
	if len(h.open) == 0 && h.cut.IsZero() {
		delete(c.users, user)
	}
}

// cut has all connections of the agents of a member cut, once each.
func (c *crowd) cut(member string) {
	c.mu.Lock()
	kick := c.kick
	if kick == nil {
		c.mu.Unlock()
		return
	}
	var open []connection
	for _, h := range c.users {
		if h.account != subjects.AccountAgents || h.name != member {
			continue
		}
		for _, o := range h.open {
			open = append(open, o.at)
		}
		h.open = nil
	}
	c.mu.Unlock()
	if len(open) > 0 {
		kick(open)
	}
}

// by has connections be cut in a way, nil for none.
func (c *crowd) by(kick func([]connection)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kick = kick
}

// forget begins anew.
func (c *crowd) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = map[string]*holder{}
}

// beyond are users of whom connections were cut lately, by account and name.
func (c *crowd) beyond(now time.Time) (users []Holder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for user, h := range c.users {
		switch {
		case h.cut.IsZero():
		case now.Sub(h.cut) < cutLately:
			users = append(users, h.told())
		case len(h.open) == 0:
			delete(c.users, user)
		}
	}
	return sorted(users)
}

// first is the user of an account who holds most connections.
func (c *crowd) first(account string) Holder {
	c.mu.Lock()
	defer c.mu.Unlock()
	var users []Holder
	for _, h := range c.users {
		if h.account == account {
			users = append(users, h.told())
		}
	}
	return first(users)
}

// crowds are the limits of users that are reached.
func (c *crowd) crowds(now time.Time) (full []Crowd) {
	for _, user := range c.beyond(now) {
		full = append(full, Crowd{Account: user.Account, Name: user.Name, Open: user.Open, Most: mostHeld[user.Account]})
	}
	return full
}
