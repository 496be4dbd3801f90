package server

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"flotilla/bus/loop"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

const (
	// keepEvery is how often servers are looked after anyhow.
	keepEvery = time.Minute
	// keepAgain is how long after a server was heard of first, or was told something, it is looked after once more: what
	// it asks the others for, and what it is asked, may cross.
	keepAgain = time.Second
	// keepSilent is after how long without a word a server was away: each says every 10 s that it is there.
	keepSilent = 15 * time.Second
	// keepFirst and keepMost bound the wait before another connection.
	keepFirst = 50 * time.Millisecond
	keepMost  = 5 * time.Second
)

// Keep has all servers go by the accounts of this build and refuse the keys that records say are refused, until ctx
// ends: when a server is heard of that was not there or out of reach, or one whose leaf node links up, when somebody changed an account,
// when the connection is back, and every minute. Without what it takes to change accounts it does nothing.
func (a *Accounts) Keep(ctx context.Context, refused func(account string) []string) error {
	if a.powerless() != "" {
		return nil
	}
	retry := loop.Backoff{First: keepFirst, Most: keepMost}
	for ctx.Err() == nil {
		err := a.keep(ctx, refused)
		if delay := retry.Next(); ctx.Err() == nil {
			a.reach.Log.Warn().Err(err).Dur("delay", delay).Msg("keeping the accounts of the servers, trying again")
			loop.Pause(ctx, delay)
		}
	}
	return nil
}

// keep is Keep over one connection, until that is closed.
func (a *Accounts) keep(ctx context.Context, refused func(account string) []string) error {
	k := &keeper{accounts: a, refused: refused, known: map[string]time.Time{}, wake: make(chan bool, 1)}
	closed, again := make(chan struct{}), newNudges()
	conn, err := a.connect(nats.ReconnectHandler(func(*nats.Conn) { k.nudge(false); a.crowd.forget(); again.nudge() }), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		return err
	}
	defer conn.Close()
	stop, err := a.bounce(conn.NC, again)
	if err != nil {
		return err
	}
	defer stop()
	defer context.AfterFunc(ctx, conn.Close)() // servers that do not answer are not waited for
	for subject, handle := range map[string]nats.MsgHandler{
		subjects.ServerHeard: k.heard, subjects.LeafLinked: k.linked, subjects.PushAccount: k.pushed,
	} {
		if _, err := conn.NC.Subscribe(subject, handle); err != nil {
			return err
		}
	}
	k.nudge(false)
	return k.run(ctx, conn.NC, closed)
}

// keeper looks after servers that come.
type keeper struct {
	accounts *Accounts
	refused  func(account string) []string
	wake     chan bool // true: also where all that answer agree

	mu    sync.Mutex
	known map[string]time.Time // when a server was heard of last, by the id that each start gives it
}

// heard takes note of a server, of one that was out of reach too.
func (k *keeper) heard(m *nats.Msg) {
	id := strings.Split(m.Subject, ".")[2]
	now := time.Now()
	k.accounts.roster.meet(m, now)
	k.mu.Lock()
	away := now.Sub(k.known[id])
	k.known[id] = now
	k.mu.Unlock()
	if away > keepSilent {
		k.nudge(false)
		time.AfterFunc(keepAgain, func() { k.nudge(true) })
	}
}

// pushed takes note of claims that servers were told, by whomever: they may lack what was refused before.
func (k *keeper) pushed(*nats.Msg) {
	time.AfterFunc(keepAgain, func() { k.nudge(false) })
}

// linked takes note of a leaf node, which is told and does not answer.
func (k *keeper) linked(*nats.Msg) {
	k.nudge(true)
	time.AfterFunc(keepAgain, func() { k.nudge(true) })
}

// nudge has servers looked after soon.
func (k *keeper) nudge(all bool) {
	for {
		select {
		case k.wake <- all:
			return
		default:
		}
		select {
		case before := <-k.wake:
			all = all || before
		default:
		}
	}
}

func (k *keeper) run(ctx context.Context, nc *nats.Conn, closed <-chan struct{}) error {
	every := time.NewTicker(keepEvery)
	defer every.Stop()
	for {
		all := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-closed:
			return nats.ErrConnectionClosed
		case <-every.C:
		case all = <-k.wake:
		}
		if err := k.accounts.align(nc, k.refused, all); err != nil {
			k.accounts.reach.Log.Warn().Err(err).Msg("having servers go by the accounts, trying again")
			time.AfterFunc(keepAgain, func() { k.nudge(all) })
		}
	}
}

// align has all servers go by the same accounts; told: also those that do not answer.
func (a *Accounts) align(nc *nats.Conn, refused func(account string) []string, told bool) error {
	a.revoking.Lock()
	defer a.revoking.Unlock()
	names := []string{subjects.AccountAgents, subjects.AccountPeople, subjects.AccountHub}
	faults := make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { faults[i] = a.settle(nc, name, refused(name), told) })
	}
	asking.Wait()
	return errors.Join(faults...)
}
