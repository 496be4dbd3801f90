package crowd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// connections is over how many connections players speak.
const connections = 4

// starting is how long a start may take on a machine that is busy with other things.
const starting = 9 * time.Minute

// What a fleet is made of at least.
const leastMembers, leastPlacements = 10, 4

// perApply is how many documents one request applies.
const perApply = 500

// Options of a Fleet.
type Options struct {
	// Members are at least 10, Placements at least 4.
	Members, Placements int
	// Seed makes another fleet of the same kind.
	Seed uint64
	// Page says that the hub serves its page.
	Page bool
}

// Fleet is a running hub with its members, until the end of the test.
type Fleet struct {
	// Hub is the hub, which leads.
	Hub *hubd.Hub

	t       testing.TB
	options Options
	folder  string
	log     zerolog.Logger
	now     func() time.Time
	pace    pace
	house   *dev.Fleet
	people  map[api.Role]*bus.Conn
	conns   []*bus.Conn
	// members are all, players those that have no real agent.
	members []*member
	players []*player
	byName  map[string]*player
	// troubles is where the placement that is everywhere is in trouble.
	troubles map[string]Verdict
	apps     []*app
	// frozen are the members that Shake froze.
	frozen map[string]bool
	asked  atomic.Int64
	// begun counts the operations of the run under way in the east.
	begun  atomic.Int64
	hubKey string
	// queue is of the players that have something to report; live says that from now on that takes time.
	queue   *loop.Queue
	live    atomic.Bool
	running sync.WaitGroup
	cancel  context.CancelFunc
}

// Start starts a fleet, and returns once all that it is made of is there and settled. Ten members take seven seconds; 10,000 with
// 1,000 placements 70 to 80 s of processor time, a seventh of it for what the hub keeps of why it picked whom. It fails the test
// where there is less of anything than a fleet is made of, or where it takes longer than nine minutes.
func Start(t testing.TB, o Options) *Fleet {
	t.Helper()
	require.GreaterOrEqual(t, o.Members, leastMembers, "members of a fleet")
	require.GreaterOrEqual(t, o.Placements, leastPlacements, "placements of a fleet")
	ctx, cancel := context.WithTimeout(t.Context(), starting)
	defer cancel()
	f := &Fleet{t: t, options: o, now: elsewhen.Now, pace: paceOf(o.Members), people: map[api.Role]*bus.Conn{}, byName: map[string]*player{}, frozen: map[string]bool{}}
	f.log = zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)
	f.folder = t.TempDir() // which goes after all that is in it
	t.Cleanup(f.stop)
	if o.Members > 100 { // what is made only to set up is much
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"casting", f.cast},
		{"founding", f.found},
		{"starting the hub", f.open},
		{"playing", f.play},
		{"placing", f.place},
		{"upgrading", f.upgrade},
		{"members fall silent", f.fallSilent},
		{"steering", f.steer},
		{"settling", f.settle},
		{"looking", f.leavesAsPlanned},
	} {
		began := f.now()
		require.NoError(t, step.do(ctx), step.what)
		t.Logf("%s: %s", step.what, f.now().Sub(began).Round(time.Millisecond))
	}
	f.live.Store(true)
	return f
}

// Client is a connection of a person of a role: anna is an admin, olaf an operator, vera a viewer.
func (f *Fleet) Client(role api.Role) *bus.Conn { return f.people[role] }

// stage is the connection for what is of no player.
func (f *Fleet) stage() *bus.Conn { return f.conns[0] }

func (f *Fleet) conn(p *player) *bus.Conn { return f.conns[p.number%len(f.conns)] }

// cast plans the members, and makes players of all that have no real agent.
func (f *Fleet) cast(context.Context) error {
	f.members = plan(f.options.Members, f.options.Seed)
	var err error
	if f.hubKey, err = bus.HubKey(bustest.Keys()); err != nil {
		return err
	}
	for _, m := range f.members {
		if m.part == partNodes {
			continue
		}
		p, err := newPlayer(m)
		if err != nil {
			return err
		}
		f.players, f.byName[m.name] = append(f.players, p), p
	}
	f.troubles = castTroubles(f.players)
	return nil
}

// admit applies all members but those that nobody admits.
func (f *Fleet) admit(ctx context.Context) error {
	var documents []json.RawMessage
	for _, m := range f.members {
		if m.part != partJoining {
			documents = append(documents, m.document())
		}
	}
	return f.apply(ctx, "members", documents)
}

// apply applies documents as an admin, as many requests as it takes.
func (f *Fleet) apply(ctx context.Context, what string, documents []json.RawMessage) error {
	for from := 0; from < len(documents); from += perApply {
		request := api.ApplyRequest{Request: f.id(), Documents: documents[from:min(from+perApply, len(documents))]}
		if err := f.ask(ctx, api.VerbApply, request, nil); err != nil {
			return fmt.Errorf("applying %s: %w", what, err)
		}
	}
	return nil
}

// play starts the real agent, and has players beat, take in commands and report from then on.
func (f *Fleet) play(ctx context.Context) error {
	silent, others := parted(f.players)
	for _, p := range silent {
		p.change(Silent(true))
	}
	if err := each(ctx, others, f.beat); err != nil {
		return err
	}
	playing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.cancel = cancel
	f.running.Go(func() { f.keepBeating(playing) })
	f.queue = loop.New(loop.Options{Workers: publishing, Now: f.now, Failed: func(key string, err error, _ time.Duration) {
		if unlessLate(err) != nil {
			f.fail(fmt.Errorf("reporting of %s: %w", key, err))
		}
	}})
	f.running.Go(func() { f.queue.Run(playing, f.work) })
	if err := f.follow(playing); err != nil {
		return err
	}
	for _, m := range f.members {
		if m.part != partNodes {
			continue
		}
		if err := f.house.StartAgent(ctx, m.agent()); err != nil {
			return err
		}
		if err := f.await(ctx, func(ctx context.Context) error { return f.memberIs(ctx, m.name, api.MemberReady) }); err != nil {
			return err
		}
	}
	return nil
}

// place applies content and placements.
func (f *Fleet) place(ctx context.Context) error {
	f.apps = apps(f.options, f.members)
	var content, placements []json.RawMessage
	for _, a := range f.apps {
		content, placements = append(content, a.content()...), append(placements, a.placement())
	}
	if err := f.apply(ctx, "content", content); err != nil {
		return err
	}
	return f.apply(ctx, "placements", placements)
}

// enter has a player say first how its member is.
func (f *Fleet) enter(ctx context.Context, p *player) error {
	if err := f.inventory(ctx, p); err != nil {
		return err
	}
	return f.beat(ctx, p)
}

// Members counts the members that Start leaves in each state.
func (f *Fleet) Members() map[api.MemberState]int {
	states := map[part]api.MemberState{partJoining: api.MemberJoining, partSilent: api.MemberUnknown, partUnwell: api.MemberNotReady, partLeaving: api.MemberLeaving}
	count := map[api.MemberState]int{}
	for _, m := range f.members {
		state, ok := states[m.part]
		count[of(ok, state, api.MemberReady)]++
	}
	return count
}

// ask asks the door as an admin.
func (f *Fleet) ask(ctx context.Context, verb string, question, answer any) error {
	return f.askAs(ctx, api.RoleAdmin, verb, question, answer)
}

func (f *Fleet) askAs(ctx context.Context, role api.Role, verb string, question, answer any) error {
	return bus.Request(ctx, f.Client(role), verb, question, answer, bus.RequestOptions{Total: 10 * time.Minute, Try: 5 * time.Minute})
}

// id is that of a request.
func (f *Fleet) id() string { return fmt.Sprintf("crowd-%d", f.asked.Add(1)) }

// fail fails the test for what nobody waits for.
func (f *Fleet) fail(err error) { f.t.Error(err) }

// stop ends players, people and the hub.
func (f *Fleet) stop() {
	if f.cancel != nil {
		f.cancel()
	}
	f.running.Wait()
	f.disconnect()
	if f.house != nil {
		require.NoError(f.t, f.house.Stop())
	}
}
