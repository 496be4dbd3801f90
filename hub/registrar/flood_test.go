package registrar_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/core/pace"
	"flotilla/subjects"
)

// hourly follows four changes at once and then one an hour, which is none in a test.
var hourly = liveness.Thresholds{Changes: pace.Rate{Burst: 4, Every: time.Hour}}

// floods has an agent say something else each time, until that is held back, and in the end a last word.
func (h *house) floods(t *testing.T, a *member.Conn, last string) {
	t.Helper()
	turn := 0
	bustest.Eventually(t, func() error {
		turn++
		beat(t, a, func(b *api.Heartbeat) {
			b.Renewal, b.Forbidden = fmt.Sprint("turn ", turn), []string{fmt.Sprint("list kind", turn)}
		})
		if len(h.room.Problems()) == 0 {
			return fmt.Errorf("%d changes are followed", turn)
		}
		return nil
	})
	beat(t, a, func(b *api.Heartbeat) { b.Renewal = last })
}

// says waits until the record of a member has what its agent said.
func (h *house) says(t *testing.T, member, renewal string) api.MemberRecord {
	t.Helper()
	var found api.MemberRecord
	bustest.Eventually(t, func() error {
		if found, _, _ = h.records.Get(member); found.Renewal != renewal {
			return fmt.Errorf("%s says %q, wanted %q", member, found.Renewal, renewal)
		}
		return nil
	})
	return found
}

func count(reasons []string, reason string) int {
	return len(slices.DeleteFunc(slices.Clone(reasons), func(one string) bool { return one != reason }))
}

// holds waits until a member is told of as held back.
func (h *house) holds(t *testing.T, member string) (reasons []string) {
	t.Helper()
	return h.tells(t, member, func(reasons []string) bool { return slices.Contains(reasons, liveness.ReasonHeldBack) }, liveness.ReasonHeldBack)
}

// What an agent said last is followed with nothing more from it. That it is held back is told once and a problem of the fleet, until it is
// told once that this is over.
func TestOfAFloodTheNewestIsFollowed(t *testing.T) {
	h := start(t, liveness.Thresholds{Changes: pace.Rate{Burst: 8, Every: 250 * time.Millisecond}})
	h.admit(t, "berlin", asItIs)
	berlin := h.server.Agent(t, "berlin")
	beat(t, berlin, nil)
	h.eventually(t, "berlin", api.MemberReady)
	require.Empty(t, h.room.Problems())
	h.floods(t, berlin, "the last word")
	problems := h.room.Problems()
	require.Len(t, problems, 1)
	require.Equal(t, "member/berlin", problems[0].Object)
	require.Equal(t, liveness.ReasonHeldBack, problems[0].Reason)
	require.Contains(t, problems[0].Message, "8 times at once and then the newest each 250ms")
	require.Contains(t, problems[0].Message, "flotilla member revoke berlin")
	require.Empty(t, h.says(t, "berlin", "the last word").Forbidden)

	reasons := h.tells(t, "berlin", func(reasons []string) bool { return slices.Contains(reasons, liveness.ReasonFollowedAgain) }, liveness.ReasonFollowedAgain)
	require.Equal(t, 1, count(reasons, liveness.ReasonHeldBack))
	require.Equal(t, liveness.ReasonFollowedAgain, reasons[len(reasons)-1])
	require.Empty(t, h.room.Problems())
}

// What people do to a member that floods is followed at once, and nothing of the flood with it. A hub that takes over follows what it finds,
// and ends nothing that it never held back.
func TestWhatPeopleDoToWhoFloodsDoesNotWait(t *testing.T) {
	h := start(t, hourly)
	h.admit(t, "berlin", asItIs)
	berlin := h.server.Agent(t, "berlin")
	h.floods(t, berlin, "the last word")
	h.holds(t, "berlin")
	h.admit(t, "berlin", func(s *api.Spec) { s.Body = []byte(`{"metadata":{"labels":{"tier":"gold"}}}`) })
	bustest.Eventually(t, func() error {
		if record, _, _ := h.records.Get("berlin"); record.Labels["tier"] != "gold" || record.Renewal == "the last word" {
			return fmt.Errorf("the record is %+v", record)
		}
		return nil
	})
	h.admit(t, "berlin", func(s *api.Spec) { s.UID = "u2" })
	bustest.Eventually(t, func() error {
		if record, _, _ := h.records.Get("berlin"); record.UID != "u2" || record.State != api.MemberReady {
			return fmt.Errorf("the record is %+v", record)
		}
		return nil
	})

	h.stop()
	h.run(t, hourly)
	h.says(t, "berlin", "the last word")
	require.Empty(t, h.room.Problems())
	h.admit(t, "berlin", nil)
	h.eventually(t, "berlin", api.MemberJoining)
	reasons := h.tells(t, "berlin", func(reasons []string) bool { return reasons[len(reasons)-1] == "MemberJoining" }, "MemberJoining")
	require.Equal(t, 1, count(reasons, liveness.ReasonHeldBack))
	require.NotContains(t, reasons, liveness.ReasonFollowedAgain)
}

// garbles has an agent store what is no heartbeat.
func (h *house) garbles(t *testing.T, nc *nats.Conn, member string) {
	t.Helper()
	_, err := nc.Request(h.store.Conn.Fleet.BucketSubject(subjects.Heartbeat, member), []byte("{{{"), 10*time.Second)
	require.NoError(t, err)
}

// An agent whose heartbeats can be read and cannot in turn is told of once, and comes and goes no more often than it may change.
func TestWhoComesAndGoesIsToldOfOnce(t *testing.T) {
	for name, admitted := range map[string]bool{"admitted": true, "nobody admitted it": false} {
		t.Run(name, func(t *testing.T) {
			thresholds := hourly
			thresholds.Grace = time.Nanosecond
			h := start(t, thresholds)
			berlin := h.server.Agent(t, "berlin")
			nc, _ := bustest.Raw(t, h.server, "berlin")
			if admitted {
				h.admit(t, "berlin", asItIs)
				h.eventually(t, "berlin", api.MemberJoining)
			}
			for i := range uint64(20) {
				beat(t, berlin, func(b *api.Heartbeat) { b.Sequence = i })
				h.seen(t, "berlin", i)
				h.garbles(t, nc, "berlin")
				bustest.Eventually(t, func() error {
					if entry, found := h.store.Heartbeats.Get("berlin"); found && string(entry.Value) != "{{{" {
						return fmt.Errorf("the hub has %s", entry.Value)
					}
					return nil
				})
				beat(t, h.server.Agent(t, fmt.Sprint("other", i)), nil) // whom the registrar has seen it saw after this
				h.eventually(t, fmt.Sprint("other", i), api.MemberJoining)
			}
			beat(t, berlin, nil)
			h.admit(t, "berlin", func(s *api.Spec) { s.UID = "u3" })
			bustest.Eventually(t, func() error {
				if record, _, _ := h.records.Get("berlin"); record.UID != "u3" {
					return fmt.Errorf("the record is %+v", record)
				}
				return nil
			})
			reasons := h.holds(t, "berlin")
			require.Equal(t, 1, count(reasons, "HeartbeatUnreadable"), "%v", reasons)
			require.Equal(t, 1, count(reasons, liveness.ReasonHeldBack), "%v", reasons)
			require.LessOrEqual(t, len(reasons), 2*4+3, "%v", reasons)
		})
	}
}
