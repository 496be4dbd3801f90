package server

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// Holder is a user with their connections.
type Holder struct {
	Account, Name string
	Leaf          bool // the leaf node of that name, and no member
	Open          int
	Excess        Excess // why connections of theirs were cut last
}

// Crowd is a limit of connections that is reached.
type Crowd struct {
	// Account and Name are whose: of the whole server when both are empty, of all users of an account without a name.
	Account, Name string
	Leaf          bool // as that of Holder
	Open, Most    int
	// Excess is what a user has too much of.
	Excess Excess
	// First holds most of them, of agents and people that are known; Unsaid have not said yet whose they are.
	First  Holder
	Unsaid int
}

// Crowds are the limits of connections that are reached now.
func (s *Server) Crowds() (full []Crowd) {
	if s.running().NumClients() >= s.o.MaxConnections {
		full = append(full, s.whole())
	}
	for name, key := range map[string]string{subjects.AccountAgents: "agents", subjects.AccountPeople: "people"} {
		account, err := s.running().LookupAccount(s.realm.public(key))
		if err == nil && account.NumConnections() >= s.realm.most[name] {
			full = append(full, Crowd{Account: name, Open: account.NumConnections(), Most: s.realm.most[name], First: s.crowd.first(name)})
		}
	}
	return append(full, s.crowd.crowds(time.Now())...)
}

// whole is the crowd of a server that is full.
func (s *Server) whole() Crowd {
	crowd, users, names := Crowd{Most: s.o.MaxConnections}, map[string]*Holder{}, s.realm.accountNames()
	for _, c := range s.connections() {
		crowd.Open++
		switch name := names[c.Account]; {
		case unsaid(c):
			crowd.Unsaid++
		case name == subjects.AccountAgents || name == subjects.AccountPeople:
			if users[c.AuthorizedUser] == nil {
				user, leaf := whose(c.JWT, c.Kind)
				users[c.AuthorizedUser] = &Holder{Account: name, Name: user, Leaf: leaf}
			}
			users[c.AuthorizedUser].Open++
		}
	}
	var all []Holder
	for _, user := range users {
		all = append(all, *user)
	}
	crowd.First = first(all)
	return crowd
}

// connections are those that are open, with their credentials.
func (s *Server) connections() []*server.ConnInfo { return s.list(true).Conns }

// traffic is what is sent over the connections that are open.
func (s *Server) traffic() (of server.ServerInfo, conns []*server.ConnInfo) {
	open := s.list(false)
	return server.ServerInfo{ID: open.ID}, open.Conns
}

func (s *Server) list(credentials bool) *server.Connz {
	open, err := s.running().Connz(&server.ConnzOptions{Username: credentials, Limit: math.MaxInt})
	if err != nil {
		return &server.Connz{} // it knows no other errors than of options
	}
	return open
}

// unsaid says that a connection has not said whose it is.
func unsaid(c *server.ConnInfo) bool { return c.AuthorizedUser == "" && c.JWT == "" }

// first is who holds most connections, nobody where there are none.
func first(users []Holder) Holder {
	if len(users) == 0 {
		return Holder{}
	}
	return sorted(users)[0]
}

// sorted puts who holds most first.
func sorted(users []Holder) []Holder {
	slices.SortFunc(users, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Name, b.Name))
	})
	return users
}

// whose is the name of the user of a connection of a kind: of a leaf node, or of an agent or a person.
func whose(token, kind string) (name string, leaf bool) {
	name = nameIn(token)
	if kind != kindLeaf {
		return name, false
	}
	return strings.CutPrefix(name, subjects.LeafPrefix)
}

// nameIn is the name of the user of credentials that a server has taken.
func nameIn(token string) string {
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return ""
	}
	return claims.Name
}

// unsaidFor is for how long a full server waits to hear whose a connection is.
const unsaidFor = time.Second

// Shed cuts connections that have not said for a while whose they are: a full server has no room for them.
func (s *Server) Shed() {
	for _, c := range s.connections() {
		if unsaid(c) && time.Since(c.Start) > unsaidFor {
			_ = s.running().DisconnectClientByID(c.Cid) // fails when it is gone
		}
	}
}

// cut cuts a connection of the server that runs now.
func (s *Server) cut(one connection) {
	if running := s.running(); running.ID() == one.server {
		_ = running.DisconnectClientByID(one.id) // fails when it is gone
	}
}
