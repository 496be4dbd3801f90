package server

import (
	"slices"
	"sync"
	"time"

	"flotilla/core/pace"
	"flotilla/subjects"
)

// What one user may hold: several times what an agent, or a person with many terminals, needs. Each subscription to a subject has what
// is sent there sent once more, so the two together bound by how much a user multiplies what others say.
const (
	AgentConnections    = 4
	LeafConnections     = 16 // several servers may share what one leaf node has
	AgentSubscriptions  = 16
	PersonConnections   = 64
	PersonSubscriptions = 32
)

// mostHeld is how many connections one user of an account may hold; those of other accounts are the fleet's own.
var mostHeld = map[string]int{subjects.AccountAgents: AgentConnections, subjects.AccountPeople: PersonConnections}

// cutLately is for how long a user counts as one who holds too much after a connection of theirs was cut.
const cutLately = 10 * time.Second

// barredFor is for how long each new connection of a user is cut at once after all were: they come back faster than it is seen what they do.
const barredFor = 10 * time.Second

// connection is one of a server, by the id of each.
type connection struct {
	server string
	id     uint64
}

// arrival is a connection that was opened, by whom.
type arrival struct {
	account   string // its name
	user, jwt string
	kind      string // kindClient or kindLeaf
	opened
}

// opened is when a connection was opened.
type opened struct {
	at    connection
	since time.Time
	sent  int64 // as traffic weighs it, when it was looked at last
}

// crowd are the connections of users. Its methods may be called from any goroutine.
type crowd struct {
	mu    sync.Mutex
	users map[string]*holder // by public key
	// agents are those of users of account AGENTS, by who that is and by public key.
	agents map[agent]map[string]*holder
	kick   func([]connection) // nil while nobody can have connections cut
	looked time.Time          // when it was looked at what they send
}

func newCrowd() *crowd {
	c := &crowd{}
	c.clear()
	return c
}

func (c *crowd) clear() {
	c.users, c.agents, c.looked = map[string]*holder{}, map[agent]map[string]*holder{}, time.Time{}
}

// agent is the agent of the member of a name, or the leaf node of that name.
type agent struct {
	name string
	leaf bool
}

// holder is a user who is connected.
type holder struct {
	account, name string
	leaf          bool      // a leaf node, which is no agent
	open          []opened  // the oldest first
	cut           time.Time // when one was cut last, for an excess
	excess        Excess    // which that was
	barred        time.Time // when all were cut last
	sent          pace.Bucket
}

// idle says that nothing of the user is to be kept.
func (h *holder) idle(now time.Time) bool {
	return len(h.open) == 0 && now.Sub(h.cut) >= cutLately && now.Sub(h.barred) >= barredFor && h.sent.Full(now)
}

// most is how many connections the user may hold.
func (h *holder) most() int {
	if h.leaf {
		return LeafConnections
	}
	return mostHeld[h.account]
}

func (h *holder) told() Holder {
	return Holder{Account: h.account, Name: h.name, Leaf: h.leaf, Open: len(h.open), Excess: h.excess}
}

// came takes note of a connection, and returns those that its user holds beyond what they may: the oldest, as an agent that lost its
// connection makes another before servers notice; that one itself, while the user may have none.
func (c *crowd) came(a arrival, now time.Time) (beyond []connection) {
	if mostHeld[a.account] == 0 || a.user == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.users[a.user]
	if h == nil {
		h = &holder{account: a.account}
		h.name, h.leaf = whose(a.jwt, a.kind)
		c.add(a.user, h)
	}
	if now.Sub(h.barred) < barredFor {
		return []connection{a.at}
	}
	if slices.ContainsFunc(h.open, func(o opened) bool { return o.at == a.at }) {
		return nil
	}
	h.open = append(h.open, a.opened)
	slices.SortStableFunc(h.open, func(a, b opened) int { return a.since.Compare(b.since) }) // as they were opened, not as they were heard of
	for len(h.open) > h.most() {
		beyond, h.cut, h.excess = append(beyond, h.open[0].at), now, ExcessConnections
		h.open = slices.Delete(h.open, 0, 1)
	}
	return beyond
}

func (c *crowd) add(user string, h *holder) {
	c.users[user] = h
	if h.account != subjects.AccountAgents {
		return
	}
	who := agent{h.name, h.leaf}
	if c.agents[who] == nil {
		c.agents[who] = map[string]*holder{}
	}
	c.agents[who][user] = h
}

func (c *crowd) remove(user string) {
	who := agent{c.users[user].name, c.users[user].leaf}
	delete(c.users, user)
	if delete(c.agents[who], user); len(c.agents[who]) == 0 {
		delete(c.agents, who)
	}
}

// left takes note of a connection that was closed, and of what it had sent.
func (c *crowd) left(user string, at connection, of traffic, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.users[user]
	if h == nil {
		return
	}
	h.open = slices.DeleteFunc(h.open, func(o opened) bool {
		if o.at == at {
			h.spend(max(0, of.weighs(h.account)-o.sent), now, now)
		}
		return o.at == at
	})
	if h.idle(now) {
		c.remove(user)
	}
}

// cut has all connections of an agent cut, once each, and for a while those that it makes then.
func (c *crowd) cut(who agent, now time.Time) {
	if kick, open := c.give(who, now); len(open) > 0 {
		kick(open)
	}
}

// give gives the connections of an agent up, to be cut in a way.
func (c *crowd) give(who agent, now time.Time) (kick func([]connection), open []connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kick == nil {
		return nil, nil
	}
	for _, h := range c.agents[who] {
		if len(h.open) > 0 {
			h.barred = now
		}
		open = append(open, h.give()...)
	}
	return c.kick, open
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
	c.clear()
}

// beyond are users of whom connections were cut lately, by account and name.
func (c *crowd) beyond(now time.Time) (users []Holder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for user, h := range c.users {
		switch {
		case now.Sub(h.cut) < cutLately:
			users = append(users, h.told())
		case h.idle(now):
			c.remove(user)
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
		h := holder{account: user.Account, leaf: user.Leaf}
		full = append(full, Crowd{Account: user.Account, Name: user.Name, Leaf: user.Leaf, Open: user.Open, Most: h.most(), Excess: user.Excess})
	}
	return full
}
