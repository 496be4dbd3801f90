package liveness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// hub carries plans out as a hub does, and counts what comes of them.
type hub struct {
	*testing.T
	in     Input
	writes int
	told   []string
}

// newHub is one that has followed a healthy member.
func newHub(t *testing.T, change func(*Input)) *hub {
	h := &hub{T: t, in: member(change)}
	h.look(nil)
	h.in.Following, h.writes, h.told = Following{heartbeat: h.in.Following.heartbeat}, 0, nil
	return h
}

// look has the hub look at what changed.
func (h *hub) look(change func(*Input)) Plan {
	h.Helper()
	if h.in.Heartbeat != nil {
		heartbeat := *h.in.Heartbeat
		h.in.Heartbeat = &heartbeat
	}
	if change != nil {
		change(&h.in)
	}
	p := Record(h.in)
	switch {
	case p.Remove:
		h.in.Previous, h.in.Written, h.in.Heartbeat, h.in.Garbled = nil, time.Time{}, nil, false
	case p.Write:
		h.writes++
		h.in.Previous, h.in.Written = stored(h.T, p.Record), h.in.Now
	}
	h.in.Following = p.Following
	for _, e := range p.Events {
		h.told = append(h.told, e.Reason)
	}
	return p
}

// says has the agent say something else.
func (h *hub) says(message string) Plan {
	h.Helper()
	return h.look(func(in *Input) {
		in.Heartbeat.Healthy, in.Heartbeat.Message, in.Age, in.Garbled = false, message, 0, false
	})
}

// floods uses up what is followed at once, and one more.
func (h *hub) floods() {
	h.Helper()
	for i := range h.in.Thresholds.Changes.Burst + 1 {
		h.says(fmt.Sprint("flood ", i))
	}
	require.Equal(h, h.in.Thresholds.Changes.Burst, h.writes)
	h.writes, h.told = 0, nil
}

func passes(d time.Duration) func(*Input) { return func(in *Input) { in.Now = in.Now.Add(d) } }

// Of changes as fast as they come a burst is followed at once, and after that the newest each 10 s: the last word of an agent is followed
// with nothing more from it. That it is held back is told once, and that this is over once, after as long a rest as the burst is worth.
func TestAFloodOfChangesIsHeldBack(t *testing.T) {
	h := newHub(t, nil)
	for i := range 1000 {
		h.says(fmt.Sprint("turn ", i))
	}
	require.Equal(t, 32, h.writes)
	require.Equal(t, []string{"MemberNotReady", ReasonHeldBack}, h.told)
	require.Equal(t, "its agent says: turn 31", h.in.Previous.Message)
	require.Equal(t, now, h.in.Following.HeldSince())

	p := h.says("the last word")
	require.Equal(t, now.Add(10*time.Second), p.Recheck)
	require.False(t, h.look(passes(9*time.Second)).Write)
	p = h.look(passes(time.Second))
	require.True(t, p.Write)
	require.Equal(t, "its agent says: the last word", p.Record.Message)
	rest := now.Add(330 * time.Second)
	require.Equal(t, h.in.lastSeen().Add(h.in.Thresholds.Timeout+time.Millisecond), p.Recheck, "before %s", rest)

	require.NotContains(t, h.told, ReasonFollowedAgain)
	h.look(func(in *Input) { in.Now, in.Age = rest.Add(-time.Second), 0 })
	require.NotContains(t, h.told, ReasonFollowedAgain)
	h.look(func(in *Input) { in.Now = rest })
	require.Equal(t, []string{"MemberNotReady", ReasonHeldBack, ReasonFollowedAgain}, h.told)
	require.Zero(t, h.in.Following.HeldSince())
	h.look(passes(time.Minute))
	require.Len(t, h.told, 3)
}

// That changes are held back wants no more than a look at the time that the plan names, to be told as over.
func TestTheEndOfAFloodIsLookedFor(t *testing.T) {
	h := newHub(t, func(in *Input) { in.Thresholds.Timeout = time.Hour })
	h.floods()
	looks := 0
	for p := h.says("the last word"); !h.in.Following.HeldSince().IsZero() && looks < 10; looks++ {
		require.True(t, p.Recheck.After(h.in.Now))
		p = h.look(func(in *Input) { in.Now = p.Recheck })
	}
	require.Equal(t, 2, looks, "one for what was held back, one for the end")
	require.Equal(t, []string{ReasonFollowedAgain}, h.told)
}

// What a member causes by itself waits, each kind of it.
func TestWhatAMemberCausesWaits(t *testing.T) {
	for name, change := range map[string]func(*Input){
		"message":         func(in *Input) { in.Heartbeat.Message = "something else" },
		"health":          func(in *Input) { in.Heartbeat.Healthy = true },
		"forbidden":       func(in *Input) { in.Heartbeat.Forbidden = []string{"list secrets"} },
		"offered labels":  func(in *Input) { in.Heartbeat.Labels = map[string]string{"a": "b"} },
		"names":           func(in *Input) { in.Heartbeat.Labels = map[string]string{"*": "b"} },
		"namespaces":      func(in *Input) { in.Heartbeat.Namespaces = []string{"a"} },
		"unlisted":        func(in *Input) { in.Heartbeat.Unlisted = []string{"a"} },
		"renewal":         func(in *Input) { in.Heartbeat.Renewal = "no hub answers" },
		"versions":        func(in *Input) { in.Heartbeat.AgentVersion, in.Heartbeat.KubernetesVersion = "v2", "v1.40.0" },
		"two agents":      func(in *Input) { in.DoubledUntil = in.Now.Add(time.Minute) },
		"what is no text": func(in *Input) { in.Heartbeat, in.Garbled = nil, true },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, nil)
			h.floods()
			require.False(t, h.look(change).Write)
			require.Empty(t, h.told)
			require.True(t, h.look(passes(20*time.Second)).Write)
		})
	}
}

// What people or the hub cause does not wait and is not charged. With it comes nothing that the member causes.
func TestWhatPeopleCauseDoesNotWait(t *testing.T) {
	at := metav1.NewTime(now)
	labelled := &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "berlin", UID: "u1", Labels: map[string]string{"a": "b"}}}
	for name, c := range map[string]struct {
		change func(*Input)
		state  api.MemberState
	}{
		"labelling":    {func(in *Input) { in.Spec = labelled }, api.MemberNotReady},
		"sending away": {func(in *Input) { in.Spec = leaving("") }, api.MemberLeaving},
		"deletion":     {func(in *Input) { in.Spec = nil }, api.MemberJoining},
		"revocation": {func(in *Input) {
			in.Heartbeat, in.Identity = nil, &api.Identity{Name: "berlin", Revoked: &at, RevokedBy: "anna"}
		}, api.MemberUnknown},
		"silence": {func(in *Input) { in.Age = time.Hour }, api.MemberUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, nil)
			h.floods()
			h.says("held back")
			before := h.in.Following.changes
			p := h.look(c.change)
			require.True(t, p.Write)
			require.Equal(t, c.state, p.Record.State)
			require.NotContains(t, p.Record.Message, "held back")
			require.Equal(t, before, p.Following.changes)
		})
	}
	h := newHub(t, func(in *Input) { in.Spec, in.Heartbeat.Healthy = nil, false })
	h.says("which is not shown of whom nobody admitted")
	h.look(func(in *Input) { in.Spec = labelled })
	require.Equal(t, []string{"MemberNotReady"}, h.told, "admitting")
	require.Contains(t, h.in.Previous.Message, "which is not shown")
	require.True(t, h.in.Following.changes.Full(now))
}

// Heartbeats that repeat what is recorded cost nothing, nor does what moves all the time, which has a pace of its own.
func TestWhatCostsNothing(t *testing.T) {
	h := newHub(t, nil)
	for i := range 1000 {
		h.look(func(in *Input) {
			in.Now = in.Now.Add(15 * time.Second)
			in.Heartbeat.Sequence++
			in.Heartbeat.Properties = map[string]string{"cost": fmt.Sprint(i)}
		})
		require.True(t, h.in.Following.changes.Full(h.in.Now))
	}
	require.Equal(t, 1000, h.writes)
	require.Empty(t, h.told)
}

// A member that is silent and back is followed at once: heartbeats that are held back still say that it is heard of.
func TestWhoIsHeardOfIsKnownWhateverIsHeldBack(t *testing.T) {
	h := newHub(t, func(in *Input) { in.Thresholds.Changes.Every = time.Hour })
	h.floods()
	for range 10 {
		h.look(passes(5 * time.Minute))
		h.says("held back")
		require.Equal(t, api.MemberNotReady, h.in.Previous.State)
		require.Zero(t, h.writes)
	}
	p := h.look(func(in *Input) { in.Now, in.Age = in.Now.Add(6*time.Minute), 6*time.Minute })
	require.Equal(t, api.MemberUnknown, p.Record.State)
	p = h.says("held back still")
	require.Equal(t, api.MemberNotReady, p.Record.State)
	require.Equal(t, h.in.Now, p.Record.LastSeen.UTC())
	require.Equal(t, 2, h.writes)
}

// However a member comes and goes, admitted or not, revoked or not, what is written and told of it has a bound.
func TestComingAndGoingHasABound(t *testing.T) {
	at := metav1.NewTime(now)
	gone := func(in *Input) { in.Heartbeat, in.Garbled = nil, false }
	garbled := func(in *Input) { in.Heartbeat, in.Garbled = nil, true }
	back := func(in *Input) {
		in.Garbled, in.Heartbeat = false, &api.Heartbeat{Header: api.NewHeader(api.KindHeartbeat), Member: "berlin", Healthy: true}
	}
	nobody := func(in *Input) { in.Spec, in.Previous = nil, nil }
	revoked := func(in *Input) { in.Identity = &api.Identity{Name: "berlin", Revoked: &at, RevokedBy: "anna"} }
	for name, c := range map[string]struct{ is, goes func(*Input) }{
		"unreadable":                          {nil, garbled},
		"nobody admitted it, and unreadable":  {nobody, garbled},
		"nobody admitted it, and gone":        {nobody, gone},
		"revoked, and unreadable":             {revoked, garbled},
		"revoked, and what it says is purged": {revoked, gone},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, c.is)
			const minutes, aSecond = 10, 20
			for range minutes * 60 * aSecond {
				h.look(c.goes)
				h.look(func(in *Input) { back(in); in.Now = in.Now.Add(time.Second / aSecond) })
			}
			most := 32 + minutes*6 + 1
			require.LessOrEqual(t, h.writes, 2*most)
			require.LessOrEqual(t, len(h.told), 2*most+1)
			held := 0
			for _, reason := range h.told {
				if reason == ReasonHeldBack || reason == ReasonFollowedAgain {
					held++
				}
			}
			require.Equal(t, 1, held, "%s, once", ReasonHeldBack)
		})
	}
}

// Of a member that is gone nothing more is told, and what it caused is remembered until that counts no more.
func TestWhoIsGoneIsToldOfNoMore(t *testing.T) {
	h := newHub(t, func(in *Input) { in.Spec, in.Previous = nil, nil })
	for i := range 40 {
		h.look(func(in *Input) { in.Heartbeat.Renewal = fmt.Sprint(i) })
	}
	require.Equal(t, []string{ReasonHeldBack}, h.told)
	p := h.look(func(in *Input) { in.Now, in.Age = in.Now.Add(310*time.Second), 310*time.Second })
	require.True(t, p.Remove)
	require.Equal(t, now.Add(320*time.Second), p.Recheck)
	require.Equal(t, now.Add(320*time.Second), p.Following.Rests(h.in.Now))
	p = h.look(func(in *Input) { in.Now = p.Recheck })
	require.True(t, p.Remove)
	require.Equal(t, h.in.Now, p.Following.Rests(h.in.Now))
	require.Equal(t, []string{ReasonHeldBack, "MemberGone"}, h.told)
}

// Where the hub has removed what an agent said, what it says now waits, and is not removed too. That people take the member away does not
// wait for it.
func TestWhatWaitsIsNotRemoved(t *testing.T) {
	h := newHub(t, nil)
	h.floods()
	heartbeat := h.in.Heartbeat
	h.look(func(in *Input) { in.Heartbeat = nil })
	taken := func(in *Input) { in.Spec, in.Heartbeat = nil, heartbeat }
	p := h.look(taken)
	require.True(t, p.Write)
	require.Equal(t, ReasonNotAdmitted, p.Record.Reason)

	h.look(func(in *Input) { in.Heartbeat = nil })
	require.Nil(t, h.in.Previous, "neither a spec nor an agent is left")
	p = h.look(taken)
	require.False(t, p.Write || p.Remove)
	require.Equal(t, now.Add(10*time.Second), p.Recheck)
	require.True(t, h.look(passes(10*time.Second)).Write)
}

// A hub that takes over follows a burst again, and ends nothing that it never began.
func TestAHubThatTakesOver(t *testing.T) {
	h := newHub(t, nil)
	h.floods()
	h.in.Following, h.in.Written = Following{}, time.Time{}
	h.look(passes(time.Second))
	h.look(passes(time.Hour))
	require.NotContains(t, h.told, ReasonFollowedAgain)
	for i := range 100 {
		h.says(fmt.Sprint("turn ", i))
	}
	require.Equal(t, 1, count(h.told, ReasonHeldBack))
}

func count(told []string, reason string) int {
	return len(slices.DeleteFunc(slices.Clone(told), func(one string) bool { return one != reason }))
}

// A clock that goes back neither stops what is followed nor lets more through.
func TestAClockThatGoesBack(t *testing.T) {
	h := newHub(t, nil)
	h.floods()
	h.look(passes(-24 * time.Hour))
	h.says("held back")
	require.Zero(t, h.writes)
	require.True(t, h.look(passes(10*time.Second)).Write)
	require.Equal(t, "its agent says: held back", h.in.Previous.Message)
	h.look(passes(time.Hour))
	require.Equal(t, 1, count(h.told, ReasonFollowedAgain))
}

// Whatever a member says, whenever: what comes of it has a bound, its newest word is followed in the end, and looking again changes nothing.
func TestWhateverAMemberSaysHasABound(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := newHub(t, func(in *Input) { in.Thresholds.Properties = time.Minute })
		began := h.in.Now
		for range 2000 {
			h.look(func(in *Input) {
				in.Now = in.Now.Add(time.Duration(rng.IntN(int(time.Second))))
				in.Garbled, in.Age = false, 0
				in.Heartbeat = &api.Heartbeat{Header: api.NewHeader(api.KindHeartbeat), Member: "berlin"}
				in.Heartbeat.Healthy = rng.IntN(2) == 0
				in.Heartbeat.Message = fmt.Sprint(rng.IntN(3))
				in.Heartbeat.Properties = map[string]string{"cost": fmt.Sprint(rng.IntN(100))}
				if rng.IntN(5) == 0 {
					in.DoubledUntil = in.Now.Add(time.Duration(rng.IntN(5)) * time.Second)
				}
				if rng.IntN(5) == 0 {
					in.Heartbeat, in.Garbled = nil, true
				}
			})
		}
		passed := h.in.Now.Sub(began)
		changes := 32 + int(passed/(10*time.Second))
		require.LessOrEqual(t, h.writes, 2*changes+int(passed/time.Minute)+1, "seed %d", seed)
		h.look(func(in *Input) {
			in.Now, in.Garbled, in.DoubledUntil = in.Now.Add(10*time.Second), false, time.Time{}
			in.Heartbeat = &api.Heartbeat{Header: api.NewHeader(api.KindHeartbeat), Member: "berlin", Message: "the last word"}
		})
		require.Equal(t, "its agent says: the last word", h.in.Previous.Message)
		require.False(t, h.look(nil).Write)
		require.LessOrEqual(t, count(h.told, ReasonHeldBack), 1+int(passed/(320*time.Second)))
	}
}
