package hubd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/census"
	"flotilla/bus/disk"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/liveness"
	"flotilla/core/schedule"
	"flotilla/hub/checker"
	"flotilla/hub/dispatcher"
	"flotilla/hub/disruptor"
	"flotilla/hub/door"
	"flotilla/hub/enroller"
	"flotilla/hub/gauger"
	"flotilla/hub/notifier"
	"flotilla/hub/registrar"
	"flotilla/hub/renderer"
	"flotilla/hub/reporter"
	"flotilla/hub/roller"
	"flotilla/hub/runner"
	"flotilla/hub/salvage"
	"flotilla/hub/scheduler"
)

// room is one part of the hub that runs while it leads. Run returns nil when its context ends.
type room struct {
	name string
	run  func(context.Context) error
}

// errRoom marks the error of a room.
var errRoom = errors.New("room")

// allRooms are the rooms of a hub. The door comes last: clients are let in once
// everything behind it is there.
func (h *Hub) allRooms(s *store.Store) []room {
	log := h.options.Log
	upgrades := runner.New(s, runner.Options{Entry: door.NewRuns(s.State), Runs: h.runsOf("runner", "fleet"), Log: log})
	disruptions := disruptor.New(s, h.disruptorOptions())
	gauges := gauger.New(s, gauger.Options{Records: h.options.Disk.Records, Events: disruptions.Uses, Metrics: h.metrics.streams, Log: log})
	members := registrar.New(s, registrar.Options{
		Thresholds: liveness.Thresholds{Timeout: h.options.Policy.MemberTimeout, Grace: h.options.Policy.Grace}, Runs: h.runsOf("registrar", "member"), Log: log,
	})
	entrance := h.doorOptions()
	entrance.Nodes, entrance.OnNodes, entrance.Uses, entrance.Streams = disruptions.Nodes, disruptions.OnNews, disruptions.Uses, func() []api.Problem {
		return slices.Concat(gauges.Problems(), h.ways.problems(), h.servers.problems(), h.readProblems(), members.Problems())
	}
	entrance.Rooms = door.Rooms{
		Room: func() disk.Room { return disk.Tighter(h.warden.room(), gauges.Room()) }, Memory: gauges.Memory,
	}
	entrance.More = upgrades.Verbs()
	maps.Copy(entrance.More, disruptions.Verbs())
	enrolments := enroller.New(s, h.enrollerOptions(disruptions.PurgeMember))
	maps.Copy(entrance.More, enrolments.Verbs())
	maps.Copy(entrance.More, salvage.Whole(s, h.stand))
	return []room{
		{"accounts", func(ctx context.Context) error { return h.keepAccounts(ctx, s) }},
		{"registrar", members.Run},
		{"scheduler", scheduler.New(s, scheduler.Options{
			Thresholds: h.thresholds(), Full: func() bool { return gauges.Memory(0).Short() }, Runs: h.runsOf("scheduler", ""), Log: log,
		}).Run},
		{"renderer", renderer.New(s, renderer.Options{Runs: h.runsOf("renderer", "member"), Log: log}).Run},
		{"roller", roller.New(s, roller.Options{Bounds: h.options.Policy.Withdrawals, Runs: h.runsOf("roller", ""), Log: log}).Run},
		{"checker", checker.New(s, checker.Options{Endpoints: h.beyond.checks, Runs: h.runsOf("checker", ""), Log: log}).Run},
		{"reporter", reporter.New(s, reporter.Options{Grace: h.options.Policy.Grace, Runs: h.runsOf("reporter", "sweep"), Log: log}).Run},
		{"runner", upgrades.Run},
		{"disruptor", disruptions.Run},
		{"enroller", enrolments.Run},
		{"gauger", gauges.Run},
		{"reads", func(ctx context.Context) error { return h.tellReads(ctx, s) }},
		{"acts", func(ctx context.Context) error { return streams.KeepActs(ctx, s.Conn) }},
		{"notifier", notifier.New(s, notifier.Options{Channels: h.beyond.channels, Log: log}).Run},
		{"dispatcher", dispatcher.New(s, dispatcher.Options{Runs: h.runsOf("dispatcher", "heads"), Log: log}).Run},
		{"door", h.open(door.New(s, entrance)).Run},
	}
}

func (h *Hub) disruptorOptions() disruptor.Options {
	o := h.options.Policy.Disruption
	return disruptor.Options{
		Interval: time.Duration(o.Interval), ValidationWait: time.Duration(o.ValidationWait), Disabled: !o.Enabled,
		Rules:   capacity.Rules{SpotToSpot: o.SpotToSpot, IgnorePreferences: o.IgnorePreferences},
		Metrics: h.metrics.disruption, Runs: h.runsOf("disruptor", "member"), Log: h.options.Log,
	}
}

func (h *Hub) enrollerOptions(purgeNodes func(context.Context, string) error) enroller.Options {
	o := enroller.Options{
		PurgeNodes: purgeNodes, Issuer: h.options.Issuer, URL: h.told(),
		Farewell: h.options.Policy.DeleteTimeout, Log: h.options.Log,
	}
	if h.server != nil {
		o.Issuer, o.Revoke, o.CA = h.server.Issuer(), h.server.Revoke, h.server.CA
	}
	if h.accounts != nil {
		o.Issuer, o.Revoke = h.accounts.Issuer(), h.accounts.Revoke
	}
	return o
}

// told is where agents and people are told that the servers are.
func (h *Hub) told() string {
	if h.server != nil {
		return h.server.URL()
	}
	return h.conn.Told(h.options.Bus.URL)
}

// thresholds are those by which placements are decided, and plans and answers about them are made.
func (h *Hub) thresholds() schedule.Thresholds {
	return schedule.Thresholds{Heartbeat: h.options.Policy.MemberTimeout, Unhealthy: DefaultMemberTimeout}
}

func (h *Hub) doorOptions() door.Options {
	o := door.Options{
		Replica: h.options.Name, Version: api.Version, AgentURL: h.told(),
		Bounds: h.options.Policy.Withdrawals, DeleteTimeout: h.options.Policy.DeleteTimeout, Grace: h.options.Policy.Grace, Thresholds: h.thresholds(),
		SkippedNamespaces: h.options.Policy.SkippedNamespaces, Served: door.Served{Page: h.Page, Front: h.Front}, Log: h.options.Log,
	}
	if h.server != nil {
		o.People = h.server
	}
	if h.accounts != nil {
		o.People = h.accounts
	}
	return o
}

// act runs all rooms until ctx ends or one of them fails, and returns when all have ended. While state is damaged
// it runs none of them, and serves what is left.
func (h *Hub) act(ctx context.Context, s *store.Store) error {
	if s.Damage == nil {
		err := h.actWhole(ctx, s)
		if !errors.Is(err, errStand) {
			return err
		}
	}
	h.setDamaged(s.Damage)
	defer h.setDamaged(nil)
	o := salvage.Options{Replica: h.options.Name, Version: api.Version, Log: h.options.Log}
	if h.server != nil {
		o.Revoked = h.server.Revoked
	}
	return salvage.New(s, o).Run(ctx)
}

func (h *Hub) setDamaged(d *census.Damage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.damaged = nil; d != nil {
		h.damaged = fmt.Errorf("%w: %s; restore with `flotilla restore FILE`, or go on without them with `flotilla restore --accept-loss`", bus.ErrDamaged, d)
	}
}

// errStand is why rooms end when a restore begins.
var errStand = errors.New("a restore begins")

// stand ends all rooms for a restore.
func (h *Hub) stand() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.standing != nil {
		h.standing(errStand)
	}
}

func (h *Hub) actWhole(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.mu.Lock()
	h.standing = cancel
	h.mu.Unlock()
	h.lead(s)
	defer h.lead(nil)
	h.options.Log.Debug().Uint64("term", s.Term.Term).Msg("starting the rooms")
	var running sync.WaitGroup
	for _, r := range h.rooms(s) {
		running.Go(func() {
			if err := r.run(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%w %s: %w", errRoom, r.name, err))
			}
		})
	}
	running.Wait()
	h.options.Log.Debug().Uint64("term", s.Term.Term).Msg("the rooms have ended")
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}
