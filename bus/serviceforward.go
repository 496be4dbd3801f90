package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"flotilla/bus/places"
	"flotilla/core/api"
	"flotilla/core/seal"

	"github.com/nats-io/nats.go"
)

// mostSeen is how many are remembered unless options say otherwise, so that none acts twice.
const mostSeen = 1 << 16

// forwards are what other hubs ask of a service.
type forwards struct {
	keys       *seal.Keyring
	term       string // names this service to other hubs
	sub        *nats.Subscription
	remembered int // how many seen may hold
	// Of the goroutine of the subscription alone: when each was seen, and the last time that old ones were forgotten.
	seen   map[string]time.Time
	forgot time.Time

	strange sync.Once // tells of one that cannot be read
}

// takeForwards answers what other hubs ask until stopForwards.
func (s *Service) takeForwards(ctx context.Context, o ServiceOptions) (err error) {
	s.keys, s.term, s.seen = o.Keys, rand.Text(), map[string]time.Time{}
	s.remembered = cmp.Or(o.Remembered, mostSeen)
	s.sub, err = s.conn.NC.Subscribe(s.conn.Fleet.Forward(), func(m *nats.Msg) { s.forwarded(ctx, m) })
	if err != nil {
		return err
	}
	return s.sub.SetPendingLimits(defaultPending, pendingBytes)
}

func (s *Service) stopForwards() {
	if s.sub != nil {
		_ = s.sub.Unsubscribe()
	}
}

// forwarded takes a message of another hub. What is not sealed by one, or came before, is not answered.
func (s *Service) forwarded(ctx context.Context, m *nats.Msg) {
	if s.leads != nil && !s.leads() || m.Reply == "" {
		return
	}
	id := m.Header.Get(HeaderRequest)
	var q forwarded
	if err := openForward(s.keys, forwardName(id), requestBounds, m.Data, &q); err != nil {
		s.strange.Do(func() {
			s.conn.Log.Warn().Err(err).Msg("a message of another hub cannot be read: it has other secrets, or somebody else sent it")
		})
		return
	}
	now := s.conn.Now()
	if _, again := s.seen[id]; again {
		return
	}
	if refusal := s.unfit(&q, now); refusal != nil {
		s.answerForward(m, id, nil, refusal)
		return
	}
	if !harmless(q.Verb) {
		s.seen[id] = now
	}
	leave, ok := s.places.Forward(q.Verb)
	if !ok {
		s.answerForward(m, id, nil, &api.Failure{Code: api.CodeUnavailable, Message: "the hub that leads has too much to do: ask again"})
		return
	}
	if !s.serving.Open() {
		leave()
		s.answerForward(m, id, nil, notLeading())
		return
	}
	taken := nats.NewMsg(m.Reply)
	taken.Header.Set(headerTaken, "true")
	s.say(taken)
	go func() {
		defer s.serving.Leave()
		defer leave()
		value, err := s.work(ctx, q.By, q.Verb, q.Body)
		s.answerForward(m, id, value, err)
	}()
}

// harmless says that it does no harm where a request acts twice: it changes nothing, or nothing more. Strangers can have hubs ask these.
func harmless(verb string) bool {
	return repeatable(verb) || verb == api.VerbEnter || verb == api.VerbLeave
}

// unfit says why a request is not taken that another hub sealed; nil when it is.
func (s *Service) unfit(q *forwarded, now time.Time) *api.Failure {
	if now.Sub(s.forgot) > forwardAge {
		s.forgot = now
		for id, at := range s.seen {
			if now.Sub(at) > 2*forwardAge {
				delete(s.seen, id)
			}
		}
	}
	switch apart := now.Sub(q.At).Abs(); {
	case q.Leader != s.term:
		return &api.Failure{Code: api.CodeOtherKey, Message: "another hub leads now: ask again"}
	case apart > forwardAge:
		return &api.Failure{Code: api.CodeRefused, Message: fmt.Sprintf("the request of another hub was sent %s away from now, expected at most %s: set the clocks of the hubs", apart, forwardAge)}
	case len(s.seen) >= s.mostSeen(q.Verb) && !harmless(q.Verb):
		return &api.Failure{Code: api.CodeUnavailable, Message: "the hub that leads has too much to do: ask again"}
	}
	return nil
}

// mostSeen is how many requests are remembered before one of a verb is refused. Those by which somebody stops what happens have as much room
// beside others.
func (s *Service) mostSeen(verb string) int {
	if places.Stops(verb) {
		return 2 * s.remembered
	}
	return s.remembered
}

// answerForward answers another hub with a value or a failure.
func (s *Service) answerForward(m *nats.Msg, id string, value any, err error) {
	answer := forwardedAnswer{Leader: s.term}
	if err == nil {
		answer.Value, err = Encode(value)
	}
	if err != nil {
		answer.Value, answer.Failure = nil, failureOf(err)
	}
	reply := nats.NewMsg(m.Reply)
	if reply.Data, err = s.fitted(id, &answer); err != nil {
		s.conn.Log.Warn().Err(err).Msg("answering another hub")
		return
	}
	s.say(reply)
}

// fitted is an answer as it is sent; one that is too long is a refusal.
func (s *Service) fitted(id string, answer *forwardedAnswer) ([]byte, error) {
	limit := int(s.conn.NC.MaxPayload()) - headerRoom
	sealed, err := sealForward(s.keys, answerName(id), answerBounds, answer)
	if err == nil && len(sealed) <= limit {
		return sealed, nil
	}
	why := fmt.Sprintf("the answer has %d bytes, the server carries %d", len(sealed), limit)
	if err != nil {
		why = "the answer: " + err.Error()
	}
	return sealForward(s.keys, answerName(id), answerBounds, &forwardedAnswer{
		Leader:  s.term,
		Failure: &api.Failure{Code: api.CodeTooLarge, Message: why, Next: "ask for less at once, with a limit or a label selector"},
	})
}

func (s *Service) say(m *nats.Msg) {
	if err := s.conn.NC.PublishMsg(m); err != nil {
		s.conn.Log.Warn().Err(err).Msg("answering another hub")
	}
}
