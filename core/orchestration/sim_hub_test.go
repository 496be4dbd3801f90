package orchestration_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
)

// simStore is what both hubs share: records that are replaced only by who holds the term and has seen
// the newest, locks, results, and the last message on every subject.
type simStore struct {
	term    int
	holder  *simHub
	records map[string]simRecord
	locks   map[string]string
	results map[string]map[string]*api.DisruptionResult
	last    map[string]map[string]simMessage // by member, then by node, "" for the inventory
	stored  int
}

type simRecord struct {
	revision int
	record   api.DisruptionRecord
}

const simOwner = "node disruption"

// write replaces a record and moves the lock in one batch; false when the term or the revision is old,
// or the lock is another's.
func (s *simStore) write(term int, member string, revision int, res *orchestration.StepResult) bool {
	if term != s.term || s.records[member].revision != revision {
		return false
	}
	if res.TakeLock && s.locks[member] != "" || res.ReleaseLock && s.locks[member] != simOwner {
		return false
	}
	switch {
	case res.TakeLock:
		s.locks[member] = simOwner
	case res.ReleaseLock:
		delete(s.locks, member)
	}
	if res.Changed {
		s.records[member] = simRecord{revision + 1, res.Record}
	}
	for _, id := range res.Dropped {
		delete(s.results[member], id)
	}
	return true
}

// simHub runs Step for every member, from what it has heard.
type simHub struct {
	name    string
	term    int // that it believes to hold, 0 for none
	views   map[string]*cluster.View
	inbox   map[string][]simMessage
	records map[string]simRecord
	waiting map[string][]orchestration.Waiting
	rest    map[string]simRest
	counts  map[string]disruption.FleetCount // of pool a, until something changes
}

// simRest is what lets a hub skip deciding: nothing was found, and nothing has changed.
type simRest struct {
	news  bool
	until time.Time
}

// start forgets everything and hears what is stored again: all of it before it acts, unless messages are
// in disorder.
func (h *simHub) start(w *world) {
	h.term = 0
	h.views, h.inbox, h.waiting, h.rest = map[string]*cluster.View{}, map[string][]simMessage{}, map[string][]orchestration.Waiting{}, map[string]simRest{}
	h.counts = map[string]disruption.FleetCount{}
	for _, l := range w.lands {
		h.views[l.name] = cluster.NewView()
		box := slices.SortedFunc(maps.Values(w.store.last[l.name]), func(a, b simMessage) int { return cmp.Compare(a.number, b.number) })
		if w.faults.messages {
			h.inbox[l.name] = box
			continue
		}
		for _, m := range box {
			fold(h.views[l.name], m)
		}
	}
	h.records = maps.Clone(w.store.records)
}

// lead takes the term: it has then seen all that was written before.
func (h *simHub) lead(w *world) {
	w.store.term++
	w.store.holder, h.term = h, w.store.term
	h.records = maps.Clone(w.store.records)
	h.waiting, h.counts = map[string][]orchestration.Waiting{}, map[string]disruption.FleetCount{}
	w.note("%s leads term %d", h.name, h.term)
}

// hear folds some of what has come, in some order, some of it twice.
func (h *simHub) hear(w *world, l *land) {
	box := h.inbox[l.name]
	n := len(box)
	if w.faults.lag {
		n = w.luck.Below(n + 1)
	}
	if w.faults.messages {
		n = w.luck.Below(len(box) + 1)
		if w.luck.Chance(4) && n > 1 {
			i := w.luck.Below(n)
			box[0], box[i] = box[i], box[0]
		}
	}
	for i, m := range box[:n] {
		fold(h.views[l.name], m)
		if w.faults.messages && w.luck.Chance(15) {
			box = append(box, box[i])
		}
	}
	if n > 0 {
		h.inbox[l.name] = slices.Clone(box[n:])
		h.rest[l.name] = simRest{news: true}
		delete(h.counts, l.name)
	}
}

func fold(v *cluster.View, m simMessage) {
	if m.event != nil {
		v.Event(m.event)
	} else {
		v.Inventory(m.inventory)
	}
}

// pass is what a hub does for one member at one moment.
func (h *simHub) pass(w *world, l *land) {
	h.hear(w, l)
	if h.idle(w, l) {
		return
	}
	in := h.input(w, l)
	res := orchestration.Step(in)
	if w.luck.Chance(20) {
		before := simDigest(in.Record)
		require.Equal(w.t, res, orchestration.Step(in), "%s: a second look at the same", w)
		require.Equal(w.t, before, simDigest(in.Record), "%s: the input was changed", w)
	}
	if w.faults.crashes && w.luck.Chance(60) {
		w.note("%s dies before it writes", h.name)
		h.start(w)
		return
	}
	if res.Changed || res.TakeLock || res.ReleaseLock {
		cached := h.records[l.name]
		if !w.store.write(h.term, l.name, cached.revision, &res) {
			h.lost(w, l)
			return
		}
		w.began(h, l, &in, &res)
		h.records[l.name] = w.store.records[l.name]
		delete(h.counts, l.name)
		if w.faults.crashes && w.luck.Chance(60) {
			w.note("%s dies after it wrote", h.name)
			h.start(w)
			return
		}
	}
	w.idempotent(&in, &res)
	h.waiting[l.name] = res.Waiting
	if res.Decision != nil {
		h.rest[l.name] = simRest{news: res.Again, until: res.Recheck}
	}
}

// idle reports that nothing can come of a pass.
func (h *simHub) idle(w *world, l *land) bool {
	rest := h.rest[l.name]
	open := func(d api.Disruption) bool { return d.Ended.IsZero() }
	return w.faults == faults{} && !rest.news && (rest.until.IsZero() || w.now.Before(rest.until)) &&
		len(h.waiting[l.name]) == 0 && !slices.ContainsFunc(h.records[l.name].record.Disruptions, open)
}

// lost is a write that another got before, or that came too late.
func (h *simHub) lost(w *world, l *land) {
	w.lostWrites++
	delete(h.counts, l.name)
	h.waiting[l.name] = nil
	h.records[l.name] = w.store.records[l.name]
	h.rest[l.name] = simRest{news: true}
	if h.term != w.store.term {
		h.term = 0
	}
}

// input gathers what Step asks for.
func (h *simHub) input(w *world, l *land) orchestration.StepInput {
	v := h.views[l.name]
	rest := h.rest[l.name]
	in := orchestration.StepInput{
		Member: l.name, Record: h.records[l.name].record,
		State:   simulate.State{Cluster: v.Cluster, Pools: w.parsed, Now: w.now, Stale: v.Stale(w.now, 2*time.Hour), FleetAllowed: h.fleetAllowed(w)},
		Results: w.store.results[l.name], Waiting: h.waiting[l.name],
		Lock:    orchestration.MemberLock{Ours: w.store.locks[l.name] == simOwner},
		Resting: !rest.news && (rest.until.IsZero() || w.now.Before(rest.until)),
	}
	if owner := w.store.locks[l.name]; owner != simOwner {
		in.Lock.Owner = owner
	}
	if l.awaited {
		in.Lock.Awaited = "update run v"
	}
	if w.faults.people && w.luck.Chance(400) && len(v.Cluster.Names()) > 0 {
		w.requests++
		node := v.Cluster.Names()[w.luck.Below(v.Cluster.Len())]
		in.Deletions = []orchestration.Deletion{{Node: node, Request: fmt.Sprint("r-", w.requests)}}
	}
	return in
}

// count is a member's share of pool a.
func (h *simHub) count(l *land) disruption.FleetCount {
	c, known := h.counts[l.name]
	if !known {
		c.Total, c.Disrupting, _ = simCount(h.views[l.name].Cluster, "a", h.held(l), nil)
		h.counts[l.name] = c
	}
	return c
}

// held are the nodes that a record keeps from others, as one hub sees them.
func (h *simHub) held(l *land) map[string]bool {
	return orchestration.StateOf(orchestration.StepInput{State: simulate.State{Cluster: h.views[l.name].Cluster}, Record: h.records[l.name].record}).Busy
}

// fleetAllowed is what is left of the budget that pools a share over all members.
func (h *simHub) fleetAllowed(w *world) map[string]int {
	var counts []disruption.FleetCount
	for _, l := range w.lands {
		counts = append(counts, h.count(l))
	}
	left, err := disruption.FleetAllowed(simFleetBudget, counts)
	require.NoError(w.t, err)
	return map[string]int{"shared": left}
}
