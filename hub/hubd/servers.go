package hubd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/core/flaws"
	"flotilla/core/health"
)

// errStrict is why a hub with Policy.StrictServers ends.
var errStrict = errors.New("--strict-servers")

// servers are the NATS servers of which a hub knows that their version breaks a promise.
type servers struct {
	mu     sync.Mutex
	flawed map[string]api.Problem // by name of the server
}

// watchServers judges the servers. A strict hub ends for one that breaks a promise.
func (h *Hub) watchServers() {
	if err := h.judgeServers(); err != nil {
		select {
		case h.failed <- err:
		default: // it ends already
		}
	}
}

// judgeServers looks at the versions of the servers that are there: of the one that this hub is connected to, and with the accounts of the
// fleet, while it leads, of all. With Policy.StrictServers it errs where one breaks a promise.
func (h *Hub) judgeServers() error {
	var there []server.Met
	nc := h.conn.NC
	up, own := nc.IsConnected(), server.Met{Name: nc.ConnectedServerName(), Version: nc.ConnectedServerVersion()}
	if up && nc.IsConnected() { // else the name or the version may be missing
		there = append(there, own)
	}
	if h.accounts != nil {
		there = append(there, h.accounts.Servers()...)
	}
	h.servers.note(h.conn.Now(), there, h.options.Log)
	return h.servers.strictly(h.options.Policy.StrictServers)
}

// note takes in which servers are there, and says in the log what is new and what is over.
func (s *servers) note(now time.Time, there []server.Met, log zerolog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	flawed := map[string]api.Problem{}
	for _, met := range there {
		wrong := flaws.Of(met.Version)
		if wrong == "" {
			continue
		}
		problem := api.Problem{Object: api.AuditObject(api.AuditServer, met.Name), Reason: health.ReasonServerVersion, Message: wrong, Next: "nats server list"}
		problem.Since.Time = now
		if before, known := s.flawed[met.Name]; known && before.Message == wrong {
			problem.Since = before.Since
		} else {
			log.Warn().Str("server", met.Name).Msg(wrong)
		}
		flawed[met.Name] = problem
	}
	for name := range s.flawed {
		if _, still := flawed[name]; !still {
			log.Info().Str("server", name).Msg("runs a version that breaks a promise no more, or is away")
		}
	}
	s.flawed = flawed
}

// problems are the servers whose version breaks a promise, for the screen of the fleet.
func (s *servers) problems() []api.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	var problems []api.Problem
	for _, problem := range s.flawed {
		problems = append(problems, problem)
	}
	slices.SortFunc(problems, func(a, b api.Problem) int { return cmp.Compare(a.Object, b.Object) })
	return problems
}

// strictly errs where a version of a server breaks a promise, and that is not to be.
func (s *servers) strictly(strict bool) error {
	problems := s.problems()
	if !strict || len(problems) == 0 {
		return nil
	}
	says := make([]string, len(problems))
	for i := range problems {
		says[i] = problems[i].Object + ": " + problems[i].Message
	}
	return fmt.Errorf("%w: %s", errStrict, strings.Join(says, "; "))
}
