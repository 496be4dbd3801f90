package registrar_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/hub/registrar"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// house is a leader's store with a registrar on it.
type house struct {
	server  *bustest.Server
	store   *store.Store
	specs   *store.Table[api.Spec]
	records *store.Table[api.MemberRecord]
	room    *registrar.Registrar
	stop    func()
}

func start(t *testing.T, thresholds liveness.Thresholds) *house {
	server := bustest.Start(t)
	h := &house{server: server, store: server.Lead(t)}
	h.specs = store.TableOf[api.Spec](h.store.State, subjects.MemberSpecs)
	h.records = store.TableOf[api.MemberRecord](h.store.State, subjects.Members)
	bustest.AsStored(t, h.store.State, subjects.Members, func(read, held *api.MemberRecord) bool { return equality.Semantic.DeepEqual(read, held) })
	h.run(t, thresholds)
	return h
}

// run starts a registrar; an earlier one is to be stopped first.
func (h *house) run(t *testing.T, thresholds liveness.Thresholds) {
	h.room = registrar.New(h.store, registrar.Options{Thresholds: thresholds, Log: h.store.Conn.Log})
	h.stop = bustest.Room(t, h.room)
}

// admit writes the spec of a member, as the door would; nil deletes it.
func (h *house) admit(t *testing.T, name string, change func(*api.Spec)) {
	key := h.specs.Key(name)
	spec, revision, _ := h.specs.Get(name)
	op := store.Delete(key, revision)
	if change != nil {
		spec.Header, spec.UID = api.NewHeader(api.KindSpec), "u1"
		spec.Object = api.ObjectRef{APIVersion: api.GroupCluster + "/v1", Kind: api.KindMemberCluster, Name: name}
		spec.Body = json.RawMessage(`{"metadata":{"annotations":{"flotilla.io/agent-labels":"region"},"labels":{"env":"prod"}}}`)
		change(&spec)
		op = store.Put(key, spec, revision)
	}
	_, err := h.store.Writer.Write(bustest.Context(t), op)
	require.NoError(t, err)
}

func asItIs(*api.Spec) {}

// eventually waits for a state of a member and returns its record.
func (h *house) eventually(t *testing.T, name string, want api.MemberState) api.MemberRecord {
	t.Helper()
	var found api.MemberRecord
	bustest.Eventually(t, func() error {
		record, _, ok := h.records.Get(name)
		if !ok || record.State != want {
			return fmt.Errorf("%s: found %+v, wanted %s", name, record, want)
		}
		found = record
		return nil
	})
	return found
}

func beat(t *testing.T, a *member.Conn, change func(*api.Heartbeat)) {
	h := api.Heartbeat{Header: api.NewHeader(api.KindHeartbeat), Member: a.Member(), Healthy: true, AgentVersion: "v1", IntervalSeconds: 15}
	if change != nil {
		change(&h)
	}
	require.NoError(t, a.PutHeartbeat(bustest.Context(t), h))
}

// seen waits until the hub holds a heartbeat, so that what follows comes after it.
func (h *house) seen(t *testing.T, member string, sequence uint64) {
	bustest.Eventually(t, func() error {
		entry, ok := h.store.Heartbeats.Get(member)
		if !ok {
			return fmt.Errorf("no heartbeat of %s", member)
		}
		found, err := watch.Decode[api.Heartbeat](entry)
		if err != nil || found.Sequence != sequence {
			return fmt.Errorf("heartbeat %d (%w), wanted %d", found.Sequence, err, sequence)
		}
		return nil
	})
}

// A member whose agent was revoked is Unknown at once, and says so.
func TestARevokedAgentIsNotWaitedFor(t *testing.T) {
	h := start(t, liveness.Thresholds{})
	berlin := h.server.Agent(t, "berlin")
	h.admit(t, "berlin", asItIs)
	beat(t, berlin, func(b *api.Heartbeat) { b.Sequence = 1 })
	h.eventually(t, "berlin", api.MemberReady)
	at := metav1.NewTime(elsewhen.Now())
	record := api.Identity{Header: api.NewHeader(api.KindIdentity), Name: "berlin", Revoked: &at, RevokedBy: "anna"}
	_, err := h.store.Writer.Write(bustest.Context(t), store.Put(subjects.Identities.Key("berlin"), record, 0))
	require.NoError(t, err)
	require.NoError(t, h.store.Heartbeats.Purge(bustest.Context(t), "berlin"))
	require.Equal(t, liveness.ReasonRevoked, h.eventually(t, "berlin", api.MemberUnknown).Reason)
	beat(t, berlin, func(b *api.Heartbeat) { b.Sequence = 2; b.Renewal = "no hub answers" })
	require.Equal(t, "no hub answers", h.eventually(t, "berlin", api.MemberReady).Renewal)
	beat(t, berlin, func(b *api.Heartbeat) { b.Sequence = 3 })
	bustest.Eventually(t, func() error {
		record, _, _ := h.records.Get("berlin")
		if record.Renewal != "" {
			return fmt.Errorf("it says %q", record.Renewal)
		}
		return nil
	})
}

func TestStates(t *testing.T) {
	h := start(t, liveness.Thresholds{})
	berlin := h.server.Agent(t, "berlin")
	beat(t, berlin, func(b *api.Heartbeat) { b.Labels = map[string]string{"region": "eu"} })
	record := h.eventually(t, "berlin", api.MemberJoining)
	require.Equal(t, liveness.ReasonNotAdmitted, record.Reason)
	require.Equal(t, map[string]string{"region": "eu"}, record.OfferedLabels)

	h.admit(t, "berlin", asItIs)
	record = h.eventually(t, "berlin", api.MemberReady)
	require.Equal(t, map[string]string{"region": "eu", "env": "prod", api.LabelMemberName: "berlin"}, record.Labels)
	require.WithinDuration(t, elsewhen.Now(), record.LastSeen.Time, 10*time.Second)

	beat(t, berlin, func(b *api.Heartbeat) { b.Healthy, b.Message = false, "api server says 500" })
	record = h.eventually(t, "berlin", api.MemberNotReady)
	require.Equal(t, "False", record.Healthy)

	h.admit(t, "paris", asItIs)
	record = h.eventually(t, "paris", api.MemberJoining)
	require.Equal(t, liveness.ReasonNeverSeen, record.Reason)

	h.admit(t, "berlin", func(s *api.Spec) { now := metav1.NewTime(elsewhen.Now()); s.Deleted = &now })
	h.eventually(t, "berlin", api.MemberLeaving)

	h.told(t, "berlin", "MemberJoining", "MemberReady", "MemberNotReady", "MemberLeaving")
}

// Two agents with the same identity are told of while heartbeats of both come, and no longer.
func TestTwoAgentsWithOneIdentityAreToldOf(t *testing.T) {
	h := start(t, liveness.Thresholds{})
	agents := []*member.Conn{h.server.Agent(t, "berlin"), h.server.Agent(t, "berlin")}
	h.admit(t, "berlin", asItIs)
	h.eventually(t, "berlin", api.MemberJoining)
	sequence := uint64(0)
	send := func(of int) {
		sequence++
		beat(t, agents[of], func(b *api.Heartbeat) {
			b.Boot, b.Sequence, b.IntervalSeconds, b.AgentVersion = fmt.Sprint("boot-", of), sequence, 1, fmt.Sprint("v", sequence)
		})
		bustest.Eventually(t, func() error {
			if record, _, _ := h.records.Get("berlin"); record.AgentVersion != fmt.Sprint("v", sequence) {
				return fmt.Errorf("the record is of agent %s", record.AgentVersion)
			}
			return nil
		})
	}
	send(0)
	h.eventually(t, "berlin", api.MemberReady)
	send(1)
	require.Equal(t, api.MemberReady, h.eventually(t, "berlin", api.MemberReady).State, "it may have been started anew")
	send(0)
	record := h.eventually(t, "berlin", api.MemberNotReady)
	require.Equal(t, liveness.ReasonTwoAgents, record.Reason)
	require.Contains(t, record.Message, "flotilla member revoke berlin")
	h.eventually(t, "berlin", api.MemberReady)
	h.told(t, "berlin", "MemberJoining", "MemberReady", "MemberNotReady", "MemberReady")
}

// told waits until the audit stream holds exactly these reasons about a member.
func (h *house) told(t *testing.T, member string, want ...string) {
	t.Helper()
	h.tells(t, member, func(reasons []string) bool { return slices.Equal(reasons, want) }, fmt.Sprint(want))
}

// tells waits until the reasons in the audit stream about a member are as wanted, and returns them.
func (h *house) tells(t *testing.T, member string, as func(reasons []string) bool, want string) (reasons []string) {
	t.Helper()
	client := h.server.Inspector(t)
	bustest.Eventually(t, func() error {
		events, err := streams.ReadAudit(bustest.Context(t), client, streams.AuditQuery{Object: "member/" + member})
		reasons = nil
		for _, e := range events {
			reasons = append(reasons, e.Reason)
		}
		if err != nil || !as(reasons) {
			return fmt.Errorf("events %v (%w), wanted %s", reasons, err, want)
		}
		return nil
	})
	return reasons
}

// A missing permission is an event of the member, once while it lasts.
func TestAMissingPermissionIsTold(t *testing.T) {
	h := start(t, liveness.Thresholds{})
	berlin := h.server.Agent(t, "berlin")
	h.admit(t, "berlin", asItIs)
	h.eventually(t, "berlin", api.MemberJoining)
	missing := []string{"list secrets in namespace shop"}
	forbid := func(sequence uint64, what []string) {
		beat(t, berlin, func(b *api.Heartbeat) { b.Sequence, b.Forbidden = sequence, what })
		bustest.Eventually(t, func() error {
			record, _, _ := h.records.Get("berlin")
			if record.State != api.MemberReady || !slices.Equal(record.Forbidden, what) {
				return fmt.Errorf("the record is %+v", record)
			}
			return nil
		})
	}
	forbid(1, nil)
	forbid(2, missing)
	h.told(t, "berlin", "MemberJoining", "MemberReady", liveness.ReasonForbidden)
	beat(t, berlin, func(b *api.Heartbeat) { b.Sequence, b.Forbidden = 3, missing })
	h.seen(t, "berlin", 3)
	forbid(4, nil)
	forbid(5, missing)
	h.told(t, "berlin", "MemberJoining", "MemberReady", liveness.ReasonForbidden, liveness.ReasonForbidden)
}

func TestHeartbeatsAtRestWriteNothing(t *testing.T) {
	h := start(t, liveness.Thresholds{Properties: time.Hour})
	berlin := h.server.Agent(t, "berlin")
	h.admit(t, "berlin", asItIs)
	beat(t, berlin, nil)
	h.eventually(t, "berlin", api.MemberReady)
	_, before, _ := h.records.Get("berlin")
	for i := range uint64(20) {
		beat(t, berlin, func(b *api.Heartbeat) {
			b.Sequence, b.Properties = i+1, map[string]string{"resources.kubernetes-fleet.io/available-cpu": fmt.Sprint(i)}
		})
	}
	h.seen(t, "berlin", 20)
	beat(t, berlin, func(b *api.Heartbeat) { b.Sequence, b.Healthy = 21, false })
	record := h.eventually(t, "berlin", api.MemberNotReady)
	_, after, _ := h.records.Get("berlin")
	require.Equal(t, before+1, after, "one write for the change of health; none for the heartbeats before it")
	require.Empty(t, record.Properties, "they are written with the rest")
}

func TestSilenceAndReturn(t *testing.T) {
	h := start(t, liveness.Thresholds{Timeout: 300 * time.Millisecond, Grace: time.Millisecond})
	berlin := h.server.Agent(t, "berlin")
	h.admit(t, "berlin", asItIs)
	beat(t, berlin, nil)
	h.eventually(t, "berlin", api.MemberReady)
	record := h.eventually(t, "berlin", api.MemberUnknown)
	require.Equal(t, liveness.ReasonNoHeartbeat, record.Reason)
	beat(t, berlin, nil)
	h.eventually(t, "berlin", api.MemberReady)
}

func TestOutageOfTheBrokerIsNoDeadFleet(t *testing.T) {
	const timeout, grace = 500 * time.Millisecond, 2 * time.Second
	h := start(t, liveness.Thresholds{Timeout: timeout, Grace: grace})
	h.admit(t, "berlin", asItIs)
	berlin := h.server.Agent(t, "berlin")
	beat(t, berlin, nil)
	h.eventually(t, "berlin", api.MemberReady)
	readable := h.store.Heartbeats.ReadableSince()

	h.server.Stop(t)
	down := elsewhen.Now()
	bustest.Eventually(t, func() error {
		if elsewhen.Since(down) < 2*timeout {
			return fmt.Errorf("waiting for the heartbeat to grow old")
		}
		return nil
	})
	h.server.Restart(t)
	bustest.Eventually(t, func() error {
		if !h.store.Synced() || !h.store.Heartbeats.ReadableSince().After(readable) {
			return fmt.Errorf("not synced again since %s", readable)
		}
		return nil
	})
	back := h.store.Heartbeats.ReadableSince()
	record, _, _ := h.records.Get("berlin")
	require.Equal(t, api.MemberReady, record.State, "%+v", record)
	record = h.eventually(t, "berlin", api.MemberUnknown)
	require.GreaterOrEqual(t, record.Since.Unix(), back.Add(grace).Unix(), "grace had not passed")
}

func TestWhatIsLeftOfAMemberIsRemoved(t *testing.T) {
	h := start(t, liveness.Thresholds{Timeout: 400 * time.Millisecond, Grace: time.Millisecond})
	h.admit(t, "berlin", asItIs)
	agent := h.server.Agent(t, "berlin")
	beat(t, agent, nil)
	require.NoError(t, agent.PutInventory(bustest.Context(t), api.MemberInventory{}))
	require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, "web", api.PlacementResult{}))
	h.eventually(t, "berlin", api.MemberReady)
	h.admit(t, "berlin", nil)
	h.eventually(t, "berlin", api.MemberJoining)
	bustest.Eventually(t, func() error {
		record, _, recorded := h.records.Get("berlin")
		_, beats := h.store.Heartbeats.Get("berlin")
		results := h.store.Results.Keys("berlin.")
		if _, listed := h.store.Inventories.Get("berlin"); recorded || beats || listed || len(results) > 0 {
			return fmt.Errorf("record %v %+v, heartbeat %v, inventory %v, results %v", recorded, record, beats, listed, results)
		}
		return nil
	})

	h.admit(t, "berlin", asItIs)
	again := h.server.Agent(t, "berlin")
	for i, boot := range []string{"another", ""} { // which the agent before had
		beat(t, again, func(b *api.Heartbeat) { b.Boot, b.Sequence = boot, uint64(10+i) })
		h.seen(t, "berlin", uint64(10+i))
		require.NotEqual(t, liveness.ReasonTwoAgents, h.eventually(t, "berlin", api.MemberReady).Reason)
	}
}

func TestRestartChangesNothing(t *testing.T) {
	h := start(t, liveness.Thresholds{})
	h.admit(t, "berlin", asItIs)
	beat(t, h.server.Agent(t, "berlin"), nil)
	h.eventually(t, "berlin", api.MemberReady)
	_, before, _ := h.records.Get("berlin")
	h.stop()

	h.run(t, liveness.Thresholds{})
	h.admit(t, "paris", asItIs)
	h.eventually(t, "paris", api.MemberJoining)
	_, after, _ := h.records.Get("berlin")
	require.Equal(t, before, after)
}

func TestUnreadableHeartbeatIsTold(t *testing.T) {
	h := start(t, liveness.Thresholds{})
	h.admit(t, "berlin", asItIs)
	h.eventually(t, "berlin", api.MemberJoining)
	berlin := h.server.Agent(t, "berlin")
	beat(t, berlin, nil)
	h.eventually(t, "berlin", api.MemberReady)
	subject := h.store.Conn.Fleet.BucketSubject(subjects.Heartbeat, "berlin")
	for range 3 {
		_, err := h.store.Conn.JS.Publish(bustest.Context(t), subject, []byte("{{{"))
		require.NoError(t, err)
	}
	h.told(t, "berlin", "MemberJoining", "MemberReady", "HeartbeatUnreadable")
	record, _, _ := h.records.Get("berlin")
	require.Equal(t, api.MemberReady, record.State, "it holds for the grace period")
}
