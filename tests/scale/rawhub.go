package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flotilla/tests/elsewhen"
)

// Streams and subjects of the exchange. None of them is of Flotilla: it is what NATS does alone.
const (
	rawState    = "state"
	rawContent  = "content"
	rawCommands = "command"
	rawResults  = "result"
)

// rawPatience is how long a round may take.
const rawPatience = time.Minute

// rawHubRole is a server with the streams of a fleet and nothing of a hub but what an exchange needs: it stores
// commands, and hears results.
type rawHubRole struct {
	Dir string `json:"dir"`

	js jetstream.JetStream

	mu      sync.Mutex
	waiting map[string]*round
}

// round is one exchange that is under way, by the prefix of what its results are for.
type round struct {
	missing map[string]struct{} // members
	done    chan struct{}
}

// rawHello says where the server is.
type rawHello struct {
	URL string `json:"url"`
}

// Exchange is what is sent for the deliveries of one round; sizes are those of bodies, in bytes.
type Exchange struct {
	Round   string   `json:"round"`
	Members []string `json:"members"`
	// State messages are stored before anything is announced, for the hub alone.
	State     int `json:"state"`
	StateSize int `json:"stateSize"`
	// Content messages are stored before, and each member reads all of them.
	Content     int `json:"content"`
	ContentSize int `json:"contentSize"`
	CommandSize int `json:"commandSize"`
	ResultSize  int `json:"resultSize"`
}

func (r *rawHubRole) start(ctx context.Context, mux *http.ServeMux) (any, func(), error) {
	o := &server.Options{
		Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: r.Dir, SyncInterval: time.Second, MaxPayload: 8 << 20,
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return nil, nil, fmt.Errorf("the server in %s does not accept connections", r.Dir)
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return nil, nil, err
	}
	stop := func() { nc.Close(); s.Shutdown(); s.WaitForShutdown() }
	if r.js, err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(4096)); err != nil {
		return nil, stop, err
	}
	r.waiting = map[string]*round{}
	if err := r.layout(ctx); err != nil {
		return nil, stop, err
	}
	mux.HandleFunc("/exchange", answer(r.exchange))
	return rawHello{s.ClientURL()}, stop, nil
}

// layout makes the streams as a hub does, and begins to hear results.
func (r *rawHubRole) layout(ctx context.Context) error {
	for _, name := range []string{rawState, rawContent, rawCommands, rawResults} {
		c := jetstream.StreamConfig{
			Name: name, Subjects: []string{name + ".>"}, Storage: jetstream.FileStorage, MaxMsgsPerSubject: 1, AllowDirect: true,
			Duplicates: 100 * time.Millisecond,
		}
		if name == rawCommands {
			c.RePublish = &jetstream.RePublish{Source: rawCommands + ".*", Destination: "hint.{{wildcard(1)}}", HeadersOnly: true}
		}
		if _, err := r.js.CreateStream(ctx, c); err != nil {
			return fmt.Errorf("making stream %s: %w", name, err)
		}
	}
	results, err := r.js.OrderedConsumer(ctx, rawResults, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy})
	if err != nil {
		return err
	}
	_, err = results.Consume(r.heard)
	return err
}

// heard takes a result in; its headers say of which round it is.
func (r *rawHubRole) heard(m jetstream.Msg) {
	member := m.Subject()[len(rawResults)+1:]
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.waiting[m.Headers().Get(headerRound)]
	if at == nil {
		return
	}
	delete(at.missing, member)
	if len(at.missing) == 0 {
		close(at.done)
		delete(r.waiting, m.Headers().Get(headerRound))
	}
}

// exchange stores what a round needs and returns, in seconds, how long it took until all results were heard.
func (r *rawHubRole) exchange(ctx context.Context, x Exchange) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, rawPatience)
	defer cancel()
	began := elsewhen.Now()
	at := &round{missing: map[string]struct{}{}, done: make(chan struct{})}
	for _, member := range x.Members {
		at.missing[member] = struct{}{}
	}
	r.mu.Lock()
	r.waiting[x.Round] = at
	r.mu.Unlock()
	for i := range x.Content {
		if err := r.put(rawContent+"."+x.Round+"-"+fmt.Sprint(i), x.Round, x.ContentSize); err != nil {
			return 0, err
		}
	}
	for i := range x.State {
		if err := r.put(fmt.Sprintf("%s.%s-%d", rawState, x.Round, i), x.Round, x.StateSize); err != nil {
			return 0, err
		}
	}
	select {
	case <-r.js.PublishAsyncComplete():
	case <-ctx.Done():
		return 0, fmt.Errorf("storing content: %w", context.Cause(ctx))
	}
	for _, member := range x.Members {
		if err := r.put(rawCommands+"."+member, x.Round, x.CommandSize); err != nil {
			return 0, err
		}
	}
	select {
	case <-at.done:
		return elsewhen.Since(began).Seconds(), nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		return 0, fmt.Errorf("round %s: %d of %d results did not come: %w", x.Round, len(at.missing), len(x.Members), context.Cause(ctx))
	}
}

// headerRound says what a message is for.
const headerRound = "Round"

func (r *rawHubRole) put(subject, of string, size int) error {
	m := nats.NewMsg(subject)
	m.Header.Set(headerRound, of)
	m.Data = make([]byte, size)
	if _, err := r.js.PublishMsgAsync(m, jetstream.WithStallWait(rawPatience)); err != nil {
		return fmt.Errorf("storing %s: %w", subject, err)
	}
	return nil
}
