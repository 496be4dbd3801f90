package server

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// metFor is how long a server counts as there since it said so last; each does every 10 s.
const metFor = time.Minute

// Met is a NATS server that said that it is there.
type Met struct {
	Name    string
	Version string // "2.15.2"
	last    time.Time
}

// roster are the servers that a hub met while it leads.
type roster struct {
	mu  sync.Mutex
	met map[string]Met // by name: one that starts again takes the place of what it was
}

func newRoster() *roster { return &roster{met: map[string]Met{}} }

// meet takes note of what a server says of itself.
func (r *roster) meet(m *nats.Msg, now time.Time) {
	var said server.ServerStatsMsg
	if err := json.Unmarshal(m.Data, &said); err != nil || said.Server.Name == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.met[said.Server.Name] = Met{said.Server.Name, said.Server.Version, now}
}

// there are the servers that are there, by name.
func (r *roster) there(now time.Time) []Met {
	r.mu.Lock()
	defer r.mu.Unlock()
	var there []Met
	for name, met := range r.met {
		if now.Sub(met.last) > metFor {
			delete(r.met, name)
			continue
		}
		there = append(there, met)
	}
	slices.SortFunc(there, func(a, b Met) int { return cmp.Compare(a.Name, b.Name) })
	return there
}

// Servers are the NATS servers that are there, as far as this hub leads, by name.
func (a *Accounts) Servers() []Met { return a.roster.there(time.Now()) }
