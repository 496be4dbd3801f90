package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/subjects"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

const (
	// pageOfList is how many connections a server lists at once with their credentials, and pageOfTraffic without: within one message.
	pageOfList, pageOfTraffic = 1000, 10_000
	// listAgain is the pause before servers are asked once more who is there.
	listAgain = time.Second
)

// bouncer hears on account SYS who connects, and has servers cut what a user holds beyond what they may: servers of NATS themselves know
// no such limit.
type bouncer struct {
	nc    *nats.Conn
	names map[string]string // of accounts, by public key
	crowd *crowd
	log   zerolog.Logger
	// own is the server of this process; nil where there are others, which are asked.
	own *Server
}

// hear begins to hear who comes and who leaves.
func (b *bouncer) hear() error {
	for subject, handle := range map[string]nats.MsgHandler{subjects.ConnectionOpened: b.opened, subjects.ConnectionClosed: b.closed} {
		if _, err := b.nc.Subscribe(subject, handle); err != nil {
			return err
		}
	}
	return nil
}

func (b *bouncer) opened(m *nats.Msg) {
	var e server.ConnectEventMsg
	if json.Unmarshal(m.Data, &e) == nil && ofUser(e.Client.Kind) && e.Client.Start != nil {
		b.came(arrival{b.names[e.Client.Account], e.Client.User, e.Client.Jwt, e.Client.Kind, opened{at: connection{e.Server.ID, e.Client.ID}, since: *e.Client.Start}})
	}
}

func (b *bouncer) closed(m *nats.Msg) {
	var e server.DisconnectEventMsg
	if json.Unmarshal(m.Data, &e) == nil {
		of := traffic{messages: e.Sent.Msgs, bytes: e.Sent.Bytes} // by the client
		b.crowd.left(e.Client.User, connection{e.Server.ID, e.Client.ID}, of, time.Now())
	}
}

// kindClient and kindLeaf are what servers call the connections of users: of clients, and of leaf nodes, which show credentials as clients do.
const kindClient, kindLeaf = "Client", "Leafnode"

func ofUser(kind string) bool { return kind == kindClient || kind == kindLeaf }

func (b *bouncer) came(a arrival) {
	b.kick(b.crowd.came(a, time.Now()))
}

// kick has servers cut connections.
func (b *bouncer) kick(all []connection) {
	for _, one := range all {
		if b.own != nil { // at once: who is cut comes back, and sends on until they are cut again
			b.own.cut(one)
			continue
		}
		request, _ := json.Marshal(server.KickClientReq{CID: one.id}) // numbers alone
		// Servers take no request without a reply.
		if err := b.nc.PublishRequest(subjects.CutConnection(one.server), b.nc.NewInbox(), request); err != nil {
			b.log.Warn().Err(err).Msg("having a connection cut")
		}
	}
}

// count has all servers list who is there, and counts them.
func (b *bouncer) count() error { return b.list(true, b.take) }

// list has all servers list who is there, with their credentials if need be, and hands each page on.
func (b *bouncer) list(credentials bool, take func(of server.ServerInfo, conns []*server.ConnInfo)) error {
	page := pageOfTraffic
	if credentials {
		page = pageOfList
	}
	for offset, more := 0, true; more; offset += page {
		more = false
		request, _ := json.Marshal(server.ConnzOptions{Username: credentials, Offset: offset, Limit: page}) // numbers alone
		answers, err := gather(b.nc, subjects.ListConnections, request)
		if err != nil {
			return err
		}
		for _, text := range answers {
			var answer struct {
				Server server.ServerInfo `json:"server"`
				Data   server.Connz      `json:"data"`
			}
			if err := json.Unmarshal(text, &answer); err != nil {
				return fmt.Errorf("the connections of a server: %w", err)
			}
			take(answer.Server, answer.Data.Conns)
			more = more || len(answer.Data.Conns) == page
		}
	}
	return nil
}

// take counts those whom a server lists.
func (b *bouncer) take(of server.ServerInfo, conns []*server.ConnInfo) {
	for _, c := range conns {
		if ofUser(c.Kind) {
			b.came(arrival{b.names[c.Account], c.AuthorizedUser, c.JWT, c.Kind, opened{connection{of.ID, c.Cid}, c.Start, trafficOf(c).weighs(b.names[c.Account])}})
		}
	}
}

func trafficOf(c *server.ConnInfo) traffic { return traffic{c.InMsgs, c.InBytes, c.Pending} }

// look has all servers list what was sent and not taken, and cuts who has too much of it.
func (b *bouncer) look() error {
	found := seen{of: map[connection]traffic{}}
	note := func(of server.ServerInfo, conns []*server.ConnInfo) {
		for _, c := range conns {
			found.of[connection{of.ID, c.Cid}] = trafficOf(c)
		}
	}
	if b.own != nil {
		found.all = time.Now()
		note(b.own.traffic())
	} else if err := b.list(false, note); err != nil {
		return err
	}
	if kick, beyond := b.crowd.look(found, time.Now()); len(beyond) > 0 {
		kick(beyond)
	}
	return nil
}

// watch hears who comes, and counts who is there: at once, and each time that it is asked again, as what was said while the connection
// was away was not heard; and it looks at what they send. Stop closes the connection.
func (b *bouncer) watch(again nudges) (stop func(), err error) {
	if err := b.hear(); err != nil {
		return nil, err
	}
	again.nudge()
	b.crowd.by(b.kick)
	ctx, cancel := context.WithCancel(context.Background())
	var counting sync.WaitGroup
	counting.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-again:
				b.countAgain(ctx)
			}
		}
	})
	counting.Go(func() { b.lookOn(ctx) })
	return sync.OnceFunc(func() { cancel(); b.crowd.by(nil); b.nc.Close(); counting.Wait(); b.crowd.forget() }), nil
}

// partOfLooks is which part of the time it is looked, at most.
const partOfLooks = 20

// lookOn looks at what is sent, again and again.
func (b *bouncer) lookOn(ctx context.Context) {
	every := askEvery
	if b.own != nil {
		every = lookEvery
	}
	for loop.Pause(ctx, every) {
		began := time.Now()
		if err := b.look(); err != nil {
			b.log.Debug().Err(err).Msg("looking at what who is connected sends")
		}
		if took := time.Since(began); b.own != nil {
			every = max(lookEvery, partOfLooks*took)
		}
	}
}

func (b *bouncer) countAgain(ctx context.Context) {
	retry := loop.Backoff{First: listAgain, Most: keepEvery}
	for ctx.Err() == nil {
		err := b.count()
		if err == nil {
			return
		}
		delay := retry.Next()
		b.log.Debug().Err(err).Dur("delay", delay).Msg("counting connections, trying again")
		loop.Pause(ctx, delay)
	}
}

// nudges are a channel that holds one word that something is to be done again.
type nudges chan struct{}

func newNudges() nudges { return make(nudges, 1) }

func (n nudges) nudge() {
	select {
	case n <- struct{}{}:
	default:
	}
}

// Cut cuts all connections of the agent of a member, or of a leaf node, which may come back after ten seconds.
func (s *Server) Cut(name string, leaf bool) { s.crowd.cut(agent{name, leaf}, time.Now()) }

// startBouncer watches who connects until it is stopped, over restarts of the server.
func (s *Server) startBouncer() error {
	creds, err := s.realm.credsOf("system", "claimsUser", subjects.ClaimsUser, subjects.ClaimsPermissions())
	if err != nil {
		return err
	}
	again := newNudges()
	o := bus.Options{Server: s, CredsText: creds, Fleet: s.o.Fleet, Log: s.o.Log.Level(zerolog.Disabled)} // it goes where the server goes
	conn, err := o.Connect("flotilla-hub/"+subjects.ClaimsUser, nats.ReconnectHandler(func(*nats.Conn) { s.crowd.forget(); again.nudge() }),
		nats.ReconnectWait(keepFirst), nats.CustomInboxPrefix(subjects.Inbox(subjects.ClaimsUser)))
	if err != nil {
		return err
	}
	b := &bouncer{nc: conn.NC, names: s.realm.accountNames(), crowd: s.crowd, log: s.o.Log, own: s}
	if s.stopBouncer, err = b.watch(again); err != nil {
		conn.Close()
	}
	return err
}
