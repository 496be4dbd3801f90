package rollout

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
)

// sim is a fleet that answers releases in its own time. What it knows of its members is the truth
// that the properties are checked against.
type sim struct {
	rng     *rand.Rand
	in      Input
	members []*simMember
	broken  map[int64]string // by snapshot: "failed" or "unavailable" for good
	lim     limits
}

type simMember struct {
	name      string
	offline   bool
	told      api.ReleaseEntry // what it acts on
	remaining int              // ticks until it is done with it
}

func newSim(seed uint64) *sim {
	rng := rand.New(rand.NewPCG(seed, seed))
	s := &sim{rng: rng, broken: map[int64]string{}}
	for i := range 3 + rng.IntN(10) {
		s.members = append(s.members, &simMember{name: fmt.Sprintf("m%02d", i)})
	}
	values := []string{"0", "1", "2", "3", "10%", "25%", "34%", "50%", "100%"}
	unavailable := intstr.Parse(values[1+rng.IntN(len(values)-1)])
	surge := intstr.Parse(values[rng.IntN(len(values))])
	s.in = Input{Results: map[string]*api.PlacementResult{}, Members: map[string]MemberView{}, Now: start}
	p := &s.in.Placement
	p.Name, p.UID = "web", "u1"
	p.Spec.Policy = &api.Policy{PlacementType: api.PickN}
	p.Spec.Strategy.RollingUpdate = &api.RollingUpdate{MaxUnavailable: &unavailable, MaxSurge: &surge}
	s.publish("")
	s.reschedule()
	return s
}

// publish makes a new snapshot; fate is "", "failed" or "unavailable".
func (s *sim) publish(fate string) {
	index := int64(1)
	if s.in.Latest != nil {
		index = s.in.Latest.Index + 1
	}
	s.broken[index] = fate
	s.in.Latest = &api.Snapshot{UID: "u1", Index: index, Work: fmt.Sprintf("work-%d", index)}
}

// reschedule binds any members; in a third of the schedules more are wanted than there are.
func (s *sim) reschedule() {
	n := int32(1 + s.rng.IntN(len(s.members)))
	want := n
	if s.rng.IntN(3) == 0 {
		want += int32(1 + s.rng.IntN(30))
	}
	s.in.Schedule = &api.Schedule{UID: "u1", Want: &want}
	for _, i := range s.rng.Perm(len(s.members))[:n] {
		s.in.Schedule.Bindings = append(s.in.Schedule.Bindings, api.Binding{Member: s.members[i].name})
	}
	slices.SortFunc(s.in.Schedule.Bindings, func(a, b api.Binding) int {
		if a.Member < b.Member {
			return -1
		}
		return 1
	})
}

func (s *sim) disturb() {
	switch s.rng.IntN(12) {
	case 0:
		s.publish("")
	case 1:
		s.publish([]string{"failed", "unavailable"}[s.rng.IntN(2)])
	case 2:
		s.reschedule()
	case 3:
		m := s.members[s.rng.IntN(len(s.members))]
		s.setOffline(m, !m.offline)
	case 4:
		s.pause(s.rng.IntN(2) == 0)
	}
}

func (s *sim) pause(paused bool) {
	s.in.Placement.Annotations = nil
	if paused {
		s.in.Placement.Annotations = map[string]string{api.AnnotationPaused: `{"by":"anna"}`}
	}
}

// checkPause: while the rollout is paused nobody is given, or told, anything new, and whoever would have to move knows who
// paused it.
func (s *sim) checkPause(t *testing.T, p Plan) {
	if s.in.Placement.Annotations == nil {
		return
	}
	require.Empty(t, p.Advance)
	require.Empty(t, p.Withdraw)
	for _, h := range p.Hold {
		require.Equal(t, "waits: paused by anna", h.Reason)
	}
	for i := range p.Release.Entries {
		after := p.Release.Entries[i]
		before := entryOf(s.in.Release, after.Member)
		require.NotNil(t, before)
		before.Snapshot = after.Snapshot // of the same work
		require.Equal(t, *before, after)
	}
}

func (s *sim) setOffline(m *simMember, offline bool) {
	m.offline = offline
	state := api.MemberReady
	if offline {
		state = api.MemberUnknown
	}
	s.in.Members[m.name] = MemberView{State: state}
}

// act lets every connected member read its entry and get on with it.
func (s *sim) act() {
	entries := map[string]api.ReleaseEntry{}
	if s.in.Release != nil {
		for _, e := range s.in.Release.Entries {
			entries[e.Member] = e
		}
	}
	for _, m := range s.members {
		e, listed := entries[m.name]
		if m.offline || !listed {
			continue
		}
		if e.Generation != m.told.Generation {
			m.told, m.remaining = e, s.rng.IntN(4)
		}
		s.in.Results[m.name] = s.result(m)
		m.remaining = max(m.remaining-1, 0)
	}
}

func (s *sim) result(m *simMember) *api.PlacementResult {
	fate := s.broken[m.told.Snapshot]
	switch {
	case m.remaining > 0:
		return resultOf(m.told, []string{"applying", "unavailable"}[s.rng.IntN(2)], s.in.Now)
	case m.told.Withdrawn:
		return resultOf(m.told, "withdrawn", s.in.Now)
	case fate != "":
		return resultOf(m.told, fate, s.in.Now)
	}
	return resultOf(m.told, "available", s.in.Now)
}

// ready is the truth about a member as far as the hub can know it: it holds what it was told last,
// and said so.
func (s *sim) ready(m *simMember) bool {
	e := entryOf(s.in.Release, m.name)
	r := s.in.Results[m.name]
	return e != nil && !e.Withdrawn && !m.offline && r != nil && r.Generation == e.Generation && r.Available == "True"
}

func entryOf(r *api.Release, member string) *api.ReleaseEntry {
	if r == nil {
		return nil
	}
	for i := range r.Entries {
		if r.Entries[i].Member == member {
			return &r.Entries[i]
		}
	}
	return nil
}

// step decides, checks what was decided, and makes it the release.
func (s *sim) step(t *testing.T) Plan {
	p := Next(s.in)
	requireReadsBack(t, &p.Release)
	s.checkAvailability(t, p)
	s.checkMovement(t, p)
	s.checkSurge(t, p)
	s.checkGenerations(t, p)
	s.checkPause(t, p)
	if p.Changed {
		s.in.Release = &p.Release
	}
	again := Next(s.in)
	require.False(t, again.Changed, "deciding twice changes nothing: %s", again)
	require.Empty(t, again.Advance)
	require.Empty(t, again.Withdraw)
	return p
}

// checkAvailability: no ready member is touched unless enough others stay ready.
func (s *sim) checkAvailability(t *testing.T, p Plan) {
	s.lim = newRollout(s.in, s.in.known).limits()
	require.Len(t, s.in.Schedule.Bindings, s.lim.target, "members that were never found count for nothing")
	ready, touched := 0, 0
	for _, m := range s.members {
		if !s.ready(m) {
			continue
		}
		ready++
		if slices.Contains(p.Advance, m.name) || slices.Contains(p.Withdraw, m.name) {
			touched++
		}
	}
	if touched > 0 {
		require.GreaterOrEqual(t, ready-touched, s.lim.target-s.lim.maxUnavailable, "%d of %d ready members touched: %s", touched, ready, p)
	}
}

// checkMovement: no more than maxUnavailable connected members are on the way to the newest snapshot
// in place, but for those that failed to apply what they had, and those that were on their way before.
func (s *sim) checkMovement(t *testing.T, p Plan) {
	moving, started := 0, 0
	bound := map[string]bool{}
	for _, b := range s.in.Schedule.Bindings {
		bound[b.Member] = true
	}
	for _, m := range s.members {
		e, r := entryOf(s.in.Release, m.name), s.in.Results[m.name]
		if e == nil || e.Withdrawn || m.offline || !bound[m.name] {
			continue
		}
		failed := r != nil && r.Generation == e.Generation && r.AppliedReason == "NotAllWorkHaveBeenApplied"
		switch {
		case slices.Contains(p.Advance, m.name) && !failed:
			started++
		case e.Snapshot == s.in.Latest.Index && !s.ready(m):
			moving++
		}
	}
	if started > 0 {
		require.LessOrEqual(t, moving+started, s.lim.maxUnavailable, "%s", p)
	}
}

// checkSurge: nobody new is added while more members than wanted and maxSurge hold the placement.
func (s *sim) checkSurge(t *testing.T, p Plan) {
	added := 0
	for _, member := range p.Advance {
		if entryOf(s.in.Release, member) == nil {
			added++
		}
	}
	if added == 0 {
		return
	}
	holding := 0
	for i := range p.Release.Entries {
		e := &p.Release.Entries[i]
		r := s.in.Results[e.Member]
		old := entryOf(s.in.Release, e.Member)
		failed := old != nil && !old.Withdrawn && r != nil && r.Generation == old.Generation && r.AppliedReason == "NotAllWorkHaveBeenApplied"
		if !failed && (s.in.Members[e.Member].State != api.MemberUnknown || scheduled(s.in.Schedule, e.Member)) {
			holding++
		}
	}
	require.LessOrEqual(t, holding, s.lim.target+s.lim.maxSurge, "%s", p)
}

func scheduled(s *api.Schedule, member string) bool {
	return slices.ContainsFunc(s.Bindings, func(b api.Binding) bool { return b.Member == member })
}

// checkGenerations: an entry's generation grows with every change and never falls.
func (s *sim) checkGenerations(t *testing.T, p Plan) {
	for i := range p.Release.Entries {
		after := p.Release.Entries[i]
		before := entryOf(s.in.Release, after.Member)
		if before == nil {
			continue
		}
		require.GreaterOrEqual(t, after.Generation, before.Generation)
		if after.Work != before.Work || after.Withdrawn != before.Withdrawn {
			require.Greater(t, after.Generation, before.Generation)
		}
	}
}

func TestSafetyAndLiveness(t *testing.T) {
	for seed := range uint64(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newSim(seed)
			for range 120 {
				s.disturb()
				s.act()
				s.step(t)
				s.in.Now = s.in.Now.Add(time.Second)
			}
			s.calm(t)
		})
	}
}

// calm ends the disturbances with a good snapshot and demands that repeated steps reach done.
func (s *sim) calm(t *testing.T) {
	for _, m := range s.members {
		s.setOffline(m, false)
	}
	s.pause(false)
	s.publish("")
	for range 400 {
		s.act()
		p := s.step(t)
		s.in.Now = s.in.Now.Add(time.Second)
		if len(p.Hold)+len(p.Advance)+len(p.Withdraw) == 0 && s.done() {
			return
		}
	}
	require.Fail(t, "never done", "%s", Next(s.in))
}

// done says that exactly the bound members hold the newest snapshot.
func (s *sim) done() bool {
	return slices.EqualFunc(s.in.Schedule.Bindings, s.in.Release.Entries, func(b api.Binding, e api.ReleaseEntry) bool {
		return b.Member == e.Member && e.Snapshot == s.in.Latest.Index && !e.Withdrawn
	})
}

// encoded is an input as JSON, but for what it asks others.
func encoded(t *testing.T, in Input) string {
	t.Helper()
	in.Guard = nil
	text, err := json.Marshal(&in)
	require.NoError(t, err)
	return string(text)
}

func TestOrderOfInputsDoesNotMatter(t *testing.T) {
	for seed := range uint64(30) {
		s := newSim(seed)
		for range 40 {
			s.disturb()
			s.act()
			before := encoded(t, s.in)
			want := Next(s.in)
			after := encoded(t, s.in)
			require.Equal(t, before, after, "the input was changed")
			shuffled := s.in
			bindings := slices.Clone(s.in.Schedule.Bindings)
			s.rng.Shuffle(len(bindings), func(i, j int) { bindings[i], bindings[j] = bindings[j], bindings[i] })
			schedule := *s.in.Schedule
			schedule.Bindings = bindings
			shuffled.Schedule = &schedule
			if s.in.Release != nil {
				release := *s.in.Release
				release.Entries = slices.Clone(release.Entries)
				slices.Reverse(release.Entries)
				shuffled.Release = &release
			}
			got := Next(shuffled)
			require.Equal(t, want.String(), got.String())
			require.ElementsMatch(t, want.Release.Entries, got.Release.Entries)
			if want.Changed {
				s.in.Release = &want.Release
			}
		}
	}
}

// A release that lost its last writes finds agents ahead of it; generations go on from theirs.
func TestLostReleaseHeals(t *testing.T) {
	s := newSim(7)
	for range 30 {
		s.act()
		s.step(t)
		s.publish("")
	}
	highest := s.in.Release.Step
	s.in.Release = nil
	p := Next(s.in)
	require.NotEmpty(t, p.Advance)
	for _, e := range p.Release.Entries {
		require.Positive(t, e.Generation)
		if r := s.in.Results[e.Member]; r != nil {
			require.Greater(t, e.Generation, r.Generation)
		}
	}
	require.LessOrEqual(t, p.Release.Step, highest+1)
}

// A result with an absurd generation does not exhaust the numbers.
func TestAbsurdGenerationIsIgnored(t *testing.T) {
	in := newSim(1).in
	in.Results["m00"] = &api.PlacementResult{UID: "u1", Generation: 1<<63 - 1, Applied: "True", Changed: metav1.NewTime(start)}
	p := Next(in)
	require.Equal(t, int64(1), p.Release.Step)
	in.Release = &p.Release
	require.False(t, Next(in).Changed)
}
