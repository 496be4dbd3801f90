package bus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flotilla/bus/places"
	"flotilla/core/api"
	"flotilla/core/seal"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nkeys"
)

// serviceName is what `nats micro ls` shows.
const serviceName = "flotilla-hub"

const (
	defaultWorkers = 32
	defaultPending = 1024
	pendingBytes   = 64 << 20
)

// ServiceOptions describe the hub's service.
type ServiceOptions struct {
	// Version is semver; Replica goes into the service's metadata.
	Version, Replica string
	// Keys are the hub's secrets, of which its own key is made: what is sealed to it is opened, and answered sealed.
	Keys *seal.Keyring
	// OfHubs are verbs that people cannot use: only other hubs ask them (Forwarder), and this process (Service.Ask).
	OfHubs map[string]Handler
	// Leads says whether the hub leads at this moment; nil: always. A hub that was stopped and goes on
	// answers nothing: the one that leads now got the requests too.
	Leads func() bool
	// HeldBack is told, nil allowed, whose request was refused because they have too many with the hub already.
	HeldBack func(person string)
	// Workers is how many requests run at once, 32 when 0; Pending how many of people run or wait, 1024 when 0; see places.ByVerb.
	Workers, Pending int
	// Remembered is how many requests of other hubs are remembered so that none acts twice, 65,536 when 0.
	Remembered int
}

// Handler answers one request of somebody with a value that is sent as JSON. A returned *api.Failure is sent
// as it is, any other error as CodeInternal.
type Handler func(ctx context.Context, by api.Caller, body []byte) (any, error)

// Service is the running micro service flotilla-hub.
type Service struct {
	conn     *Conn
	leads    func() bool
	micro    micro.Service
	curve    nkeys.KeyPair
	places   *places.ByVerb
	heldBack func(person string)
	stats    map[string]*verbStats
	repeats  places.Repeats[repeat, micro.Request]
	asked
	forwards
	serving *places.Serving
}

// repeat tells requests apart: it is the same where the same person asks the same verb for the same under the same id.
type repeat struct {
	by  api.Caller // with the verb
	sum [sha256.Size]byte
}

// long are verbs that change nothing and are worked on for longer than a client waits for one try. What else is asked again is
// begun again: what was begun may wait for a connection that was lost.
var long = []string{api.VerbPlan, api.VerbWhatIf, api.VerbPreview, api.VerbPlanNodes}

type tries = places.Tries[repeat, micro.Request]

// verbStats is what `nats micro stats` shows as data of an endpoint: requests run beside each other,
// so the times that the micro library takes say nothing.
type verbStats struct {
	answered, failed, nanoseconds atomic.Int64
}

// Serve answers verbs of people (subjects.Fleet.API) until Stop; ctx is handed to handlers. Every hub
// that serves gets every request, so that one whose process is stopped takes none away from the leader.
func Serve(ctx context.Context, c *Conn, o ServiceOptions, verbs map[string]Handler) (*Service, error) {
	s := &Service{
		conn: c, leads: o.Leads, places: places.NewByVerb(cmp.Or(o.Workers, defaultWorkers), cmp.Or(o.Pending, defaultPending)),
		heldBack: o.HeldBack, stats: map[string]*verbStats{},
	}
	if s.heldBack == nil {
		s.heldBack = func(string) {}
	}
	var err error
	if s.curve, err = CurveOf(o.Keys); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	verbs = maps.Clone(verbs)
	verbs[api.VerbKey] = s.tellKey
	s.asked = asked{verbs: verbs, ofHubs: o.OfHubs}
	s.serving = places.NewServing(ctx)
	for verb := range verbs {
		s.stats[verb] = &verbStats{}
	}
	s.micro, err = micro.AddService(c.NC, micro.Config{
		Name: serviceName, Version: cmp.Or(o.Version, "0.0.0"), Description: "The leading hub of fleet " + c.Fleet.Name,
		Metadata:     map[string]string{"fleet": c.Fleet.Name, "replica": o.Replica},
		StatsHandler: s.showStats,
	})
	if err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	group := s.micro.AddGroup(c.Fleet.APIGroup())
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		err := group.AddEndpoint(verb, s.endpoint(ctx, verb, verbs[verb]),
			micro.WithEndpointSubject(c.Fleet.APIEndpoint(verb)), micro.WithEndpointQueueGroupDisabled(), micro.WithEndpointPendingLimits(cmp.Or(o.Pending, defaultPending), pendingBytes))
		if err != nil {
			s.Stop()
			return nil, fmt.Errorf("starting the service, verb %s: %w", verb, err)
		}
	}
	if err := s.takeForwards(ctx, o); err != nil {
		s.Stop()
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	if err := c.lead(); err != nil {
		c.Log.Warn().Err(err).Msg("saying that this hub leads")
	}
	return s, nil
}

func (s *Service) showStats(e *micro.Endpoint) any {
	st := s.stats[e.Name]
	if st == nil {
		return nil
	}
	answered := st.answered.Load()
	return map[string]any{
		"answered": answered, "failed": st.failed.Load(),
		"averageMicroseconds": st.nanoseconds.Load() / max(1, answered) / int64(time.Microsecond),
	}
}

// endpoint hands each request to a goroutine of its own, which waits for its turn. What is too much is refused.
func (s *Service) endpoint(ctx context.Context, verb string, h Handler) micro.Handler {
	return micro.HandlerFunc(func(r micro.Request) {
		if s.leads != nil && !s.leads() || r.Reply() == "" {
			return
		}
		by, err := s.caller(r)
		if err != nil {
			s.answer(verb, r, "", nil, err)
			return
		}
		t, first := s.try(verb, by, r)
		if !first {
			return
		}
		line, err := s.places.Join(verb, by.Name)
		if err != nil {
			s.answerAll(verb, t, "", nil, err)
			s.heldBack(by.Name)
			return
		}
		if !s.serving.Open() {
			line.Leave()
			s.answerAll(verb, t, "", nil, notLeading())
			return
		}
		go func() {
			defer s.serving.Leave()
			s.handle(ctx, line, verb, h, by, r, t)
		}()
	})
}

// try adds a try of a request; first says that the request has to be worked on.
func (s *Service) try(verb string, by api.Caller, r micro.Request) (t *tries, first bool) {
	if by.Request == "" || !slices.Contains(long, verb) {
		return s.repeats.Alone(r), true
	}
	return s.repeats.Join(repeat{by, sha256.Sum256(r.Data())}, r)
}

// handle answers one request when its turn has come.
func (s *Service) handle(ctx context.Context, joined *places.Line, verb string, h Handler, by api.Caller, r micro.Request, t *tries) {
	ctx, end := s.serving.Within(ctx)
	defer end()
	ran, err := s.places.Enter(ctx, verb, by.Name)
	if err != nil {
		joined.Leave()
		s.answerAll(verb, t, "", nil, notLeading())
		return
	}
	leave := sync.OnceFunc(func() { ran(); joined.Leave() })
	defer leave()
	began := time.Now()
	text, to, err := s.requestText(r)
	var value any
	if err == nil {
		value, err = s.run(context.WithValue(ctx, place{}, leave), h, by, r, text)
	}
	s.answerAll(verb, t, to, value, ended(ctx, err))
	s.stats[verb].nanoseconds.Add(int64(time.Since(began)))
}

// place is the key of that of a request among those that run at once.
type place struct{}

// Aside gives that place up: a Handler calls it before it waits for long, and bounds by itself how many wait.
func Aside(ctx context.Context) {
	if leave, running := ctx.Value(place{}).(func()); running {
		leave()
	}
}

// stumbled makes a refusal of the panic of a handler.
func (s *Service) stumbled(subject string, err *error) {
	if p := recover(); p != nil {
		s.conn.Log.Error().Str("subject", subject).Msgf("request panicked: %v", p)
		*err = &api.Failure{Code: api.CodeInternal, Message: "the hub stumbled over this request; its log says where"}
	}
}

func (s *Service) run(ctx context.Context, h Handler, by api.Caller, r micro.Request, text []byte) (value any, err error) {
	defer s.stumbled(r.Subject(), &err)
	body, err := requestBody(r, text)
	if err != nil {
		return nil, unreadable(err)
	}
	return h(ctx, by, body)
}

func unreadable(err error) *api.Failure {
	failure := &api.Failure{Code: api.CodeInvalid, Message: "reading the request: " + err.Error()}
	if errors.Is(err, ErrTooLarge) {
		failure.Code, failure.Next = api.CodeTooLarge, "send fewer documents at once"
	}
	return failure
}

func requestBody(r micro.Request, text []byte) ([]byte, error) {
	if r.Headers().Get(headerEncoding) == encodingGzip {
		return requestBounds.gunzip(text)
	}
	return text, requestBounds.Check(text)
}

// answerAll answers all tries of a request.
func (s *Service) answerAll(verb string, t *tries, to string, value any, err error) {
	for _, r := range s.repeats.End(t) {
		s.answer(verb, r, to, value, err)
	}
}

// answer sends a value or a failure to who asked, sealed to a key unless that is empty.
func (s *Service) answer(verb string, r micro.Request, to string, value any, err error) {
	m := nats.NewMsg(r.Reply())
	if err == nil {
		err = s.fill(m, r, value)
	}
	st := s.stats[verb]
	st.answered.Add(1)
	if err != nil {
		st.failed.Add(1)
		fail(m, err)
	}
	if err := s.seal(m, to); err != nil {
		fail(m, err)
	}
	if err := s.conn.NC.PublishMsg(m); err != nil {
		s.conn.Log.Warn().Err(err).Str("verb", verb).Msg("answering a request")
	}
}

// fill puts the answer into m, compressed when it is long and the client can read it.
func (s *Service) fill(m *nats.Msg, r micro.Request, value any) error {
	text, err := Encode(value)
	if err != nil {
		return fmt.Errorf("rendering the answer: %w", err)
	}
	if r.Headers().Get(headerAccept) == encodingGzip {
		if text, err = compress(m, text); err != nil {
			return err
		}
	}
	if limit := int(s.conn.NC.MaxPayload()) - headerRoom; len(text) > limit {
		return &api.Failure{
			Code: api.CodeTooLarge, Message: fmt.Sprintf("the answer has %d bytes, the server carries %d", len(text), limit),
			Next: "ask for less at once, with a limit or a label selector",
		}
	}
	m.Data = text
	return nil
}

// failureOf is an error as it is sent.
func failureOf(err error) *api.Failure {
	if failure, is := errors.AsType[*api.Failure](err); is {
		return failure.Listed()
	}
	return &api.Failure{Code: api.CodeInternal, Message: err.Error()}
}

// fail puts a failure into an answer.
func fail(m *nats.Msg, err error) {
	failure := failureOf(err)
	m.Header = nats.Header{}
	m.Header.Set(micro.ErrorCodeHeader, failure.Code)
	line, _, _ := strings.Cut(failure.Message, "\n")
	m.Header.Set(micro.ErrorHeader, line)
	m.Data, _ = json.Marshal(failure) // a struct of strings always marshals
	if text, err := compress(m, m.Data); err == nil {
		m.Data = text
	}
}
