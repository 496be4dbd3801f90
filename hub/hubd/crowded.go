package hubd

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/gate"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/core/phrase"
	"flotilla/subjects"
)

// calm is after how long without it a limit counts as reached no more: it is one state, however often connections come and go.
const calm = 30 * time.Second

// watchWays looks which limits of connections are reached, and closes those to NATS of which nobody has said whose they are where there is no
// room left.
func (h *Hub) watchWays() {
	var full []api.Problem
	if h.server != nil {
		for _, crowd := range h.server.Crowds() {
			full = append(full, h.crowdedServer(&crowd))
			if crowd.Account == "" {
				h.server.Shed()
			}
		}
	}
	if h.accounts != nil {
		for _, crowd := range h.accounts.Crowds() {
			full = append(full, crowdedUser(&crowd))
		}
	}
	for _, way := range h.ways.ofHTTP() {
		if next, is := way.gate.Full(); is {
			full = append(full, h.crowdedSite(&way, next))
		}
	}
	h.ways.note(h.conn.Now(), full, h.options.Log)
}

// crowdedSite is the problem of a way by HTTP that is full, and of whoever loses a connection to the one that comes next.
func (h *Hub) crowdedSite(w *way, next gate.Holder) api.Problem {
	whose := "network " + next.Name
	if next.Person {
		whose, _ = userOf(subjects.AccountPeople, next.Name, false)
	}
	return api.Problem{
		Object: "hub/" + h.options.Name, Reason: health.ReasonConnections,
		Message: fmt.Sprintf("%s: %s are open, as many as it takes; for each that comes the oldest of %s is closed, which holds most, %d",
			w.name, phrase.Count(w.gate.Most(), "connection"), whose, next.Open),
		Next: connectedTo(w.gate.Addr().String()),
	}
}

// crowdedServer is the problem of a limit of the NATS server.
func (h *Hub) crowdedServer(c *server.Crowd) api.Problem {
	if c.Name != "" {
		return crowdedUser(c)
	}
	problem := api.Problem{Object: "hub/" + h.options.Name, Reason: health.ReasonConnections}
	if at, err := url.Parse(h.server.URL()); err == nil {
		problem.Next = connectedTo(at.Host)
	}
	if c.Account == "" {
		problem.Message = fmt.Sprintf("the NATS server: %s are open, as many as it takes; who comes is refused until one is closed", phrase.Count(c.Most, "connection"))
	} else {
		problem.Message = fmt.Sprintf("account %s: %s are open, as many as it may have; who comes is refused until one is closed", c.Account, phrase.Count(c.Most, "connection"))
	}
	if c.Unsaid > 0 {
		problem.Message += fmt.Sprintf("; %d have not said whose they are", c.Unsaid)
	}
	if c.First.Open > 0 {
		object, _ := userOf(c.First.Account, c.First.Name, c.First.Leaf)
		problem.Message += fmt.Sprintf("; %s holds most, %d", object, c.First.Open)
	}
	return problem
}

// crowdedUser is the problem of a user who has too much of something.
func crowdedUser(c *server.Crowd) (problem api.Problem) {
	switch c.Excess {
	case server.ExcessMessages:
		problem.Reason, problem.Message = health.ReasonMessages, "sends more messages than anybody needs: its connections are cut, and new ones for ten seconds more"
	case server.ExcessUntaken:
		problem.Reason, problem.Message = health.ReasonUntaken, "takes what it is sent more slowly than that is sent: its connections are cut"
	case server.ExcessConnections:
		problem.Reason = health.ReasonConnections
		problem.Message = fmt.Sprintf("opens more than %s at once, the most that it may have: the oldest are cut", phrase.Count(c.Most, "connection"))
	}
	problem.Object, problem.Next = userOf(c.Account, c.Name, c.Leaf)
	return problem
}

// connectedTo is the command that lists who is connected to an address of this machine.
func connectedTo(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return "ss -tn state established 'sport = :" + port + "'"
}

// userOf is the object of a user, and the command that ends what somebody does in its name.
func userOf(account, name string, leaf bool) (object, next string) {
	switch {
	case account == subjects.AccountPeople:
		return "user/" + name, "flotilla user renew " + name
	case leaf:
		return api.AuditObject(api.AuditServer, name), "nats server report connections"
	}
	return api.AuditObject(api.AuditMember, name), "flotilla describe member " + name
}

// note takes in which limits are reached, and says in the log what is new and what is over.
func (w *ways) note(now time.Time, full []api.Problem, log zerolog.Logger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, problem := range full {
		limit, _, _ := strings.Cut(problem.Message, ":") // numbers come after it
		about := problem.Object + " " + limit
		before, known := w.full[about]
		problem.Since = before.problem.Since
		if !known {
			problem.Since.Time = now
			log.Warn().Str("object", problem.Object).Msg(problem.Message)
		}
		w.full[about] = fullness{problem, now}
	}
	for about, f := range w.full {
		if now.Sub(f.last) >= calm {
			delete(w.full, about)
			log.Info().Str("object", f.problem.Object).Stringer("after", now.Sub(f.problem.Since.Time)).Msg("a limit is reached no more")
		}
	}
}

// problems are the limits of connections that are reached, for the screen of the fleet.
func (w *ways) problems() []api.Problem {
	w.mu.Lock()
	defer w.mu.Unlock()
	var problems []api.Problem
	for _, f := range w.full {
		problems = append(problems, f.problem)
	}
	slices.SortFunc(problems, func(a, b api.Problem) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Message, b.Message))
	})
	return problems
}
