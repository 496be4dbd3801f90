package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/subjects"
)

// foreign are subjects that no member may publish to: those of others, of the hub, of JetStream and of the
// server.
func (g *ground) foreign() []string {
	f := g.names
	streams := []string{f.BucketStream(subjects.State), f.BucketStream(subjects.Result), f.Stream(subjects.Commands)}
	out := []string{
		f.BucketSubject(subjects.Heartbeat, victim), f.BucketSubject(subjects.Heartbeat, "*"), f.BucketSubject(subjects.Heartbeat, ">"),
		f.BucketSubject(subjects.Heartbeat, attacker+".x"), f.BucketSubject(subjects.Result, victim+".placement.web"),
		f.BucketSubject(subjects.Result, "*.placement.web"), f.BucketSubject(subjects.State, "schedule.web"),
		f.BucketSubject(subjects.State, "spec.placement.web"), f.BucketSubject(subjects.State, "member."+attacker),
		f.BucketSubject(subjects.State, "spec.member."+attacker), f.BucketSubject(subjects.State, subjects.TermKey),
		f.BucketSubject(subjects.State, subjects.LayoutKey), f.BucketSubject(subjects.Lease, subjects.LeaseKey),
		f.BucketSubject(subjects.Content, strings.Repeat("0", 64)), f.Command(attacker, "placement"), f.Command(victim, "placement"),
		f.Hint(victim, "placement"), f.Hint(attacker, "placement"), f.NodeEvent(victim, "n1"), f.NodeInventory(victim), f.Inventory(victim),
		f.AuditEvent("placement", "web"), f.Leads(), f.API(api.RoleAdmin, "admin", api.VerbApply), f.API(api.RoleAdmin, "admin", api.VerbGet), f.API(api.RoleAdmin, "admin", api.VerbAdmit),
		subjects.Inbox(victim) + ".x", subjects.PersonInbox(subjects.FirstPerson) + ".x", "_INBOX.x", "$SRV.PING", "$SRV.INFO.flotilla-hub",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.MINE",
		"$JS.API.ACCOUNT.PURGE.X", "$JS.API.META.LEADER.STEPDOWN", "$JS.ACK.x.y.1.1.1.1.1", "$JS.FC.x",
		subjects.DirectGet(f.Stream(subjects.Commands), f.Command(victim, "placement")),
		subjects.DirectGet(f.Stream(subjects.Commands), f.Command("*", "placement")),
		subjects.DirectGet(f.BucketStream(subjects.State), f.BucketSubject(subjects.State, "spec.placement.web")),
		subjects.DirectGet(f.BucketStream(subjects.Heartbeat), f.BucketSubject(subjects.Heartbeat, victim)),
		subjects.DirectGet(f.Stream(subjects.Events), f.NodeInventory(victim)),
		"$JS.API.DIRECT.GET." + f.Stream(subjects.Commands), "$JS.API.DIRECT.GET." + f.BucketStream(subjects.Content),
	}
	for _, stream := range streams {
		for _, call := range []string{
			"STREAM.INFO", "STREAM.UPDATE", "STREAM.DELETE", "STREAM.PURGE", "STREAM.MSG.GET", "STREAM.MSG.DELETE", "STREAM.SNAPSHOT",
			"STREAM.RESTORE", "STREAM.LEADER.STEPDOWN", "CONSUMER.CREATE", "CONSUMER.NAMES", "CONSUMER.LIST",
		} {
			out = append(out, "$JS.API."+call+"."+stream)
		}
	}
	return out
}

func TestForeignSubjectsAreRefused(t *testing.T) {
	g := newGround(t)
	before := g.stored()
	for _, subject := range g.foreign() {
		require.NoError(t, g.mallory.PublishRequest(subject, subjects.Inbox(attacker)+".r", []byte(marker)))
		require.NoError(t, g.mallory.Flush())
		g.refused(fmt.Sprintf("Publish to %q", subject))
	}
	f := g.names
	for _, subject := range []string{
		">", "*.>", "_INBOX.>", subjects.Inbox(victim) + ".>", f.Hint(victim, "*"), f.Hint("*", "*"), f.Prefix() + ".>", f.AllCommands(),
		f.AllEvents(), f.APIGroup() + ".>", "$JS.>", "$SYS.>", "$KV.>", "$SRV.>", f.BucketSubject(subjects.Result, victim+".>"), f.Leads(),
	} {
		_, err := g.mallory.SubscribeSync(subject)
		require.NoError(t, err)
		require.NoError(t, g.mallory.Flush())
		g.refused(fmt.Sprintf("Subscription to %q", subject))
	}
	g.unharmed(before)
}

// The answer to what one may publish goes where its sender says. It must arrive nowhere.
func TestAnswersBounceNowhere(t *testing.T) {
	g := newGround(t)
	before := g.stored()
	f := g.names
	own := f.BucketSubject(subjects.Heartbeat, attacker)
	for _, target := range []string{
		f.BucketSubject(subjects.Heartbeat, victim), f.BucketSubject(subjects.State, "schedule.web"), f.BucketSubject(subjects.State, subjects.TermKey),
		f.BucketSubject(subjects.Lease, subjects.LeaseKey), f.BucketSubject(subjects.Content, strings.Repeat("a", 64)), f.Command(victim, "placement"),
		f.NodeInventory(victim), f.API(api.RoleAdmin, "admin", api.VerbApply), f.Hint(victim, "placement"), subjects.Inbox(victim) + ".x", "$JS.API.STREAM.PURGE." + f.BucketStream(subjects.State),
	} {
		require.NoError(t, g.mallory.PublishRequest(own, target, []byte(`{"boot":"`+marker+`"}`)))
	}
	require.NoError(t, g.mallory.Flush())
	g.unharmed(before)
}

// Headers of NATS do on the server what a subject does not say. 20 of them, on each kind of subject that a
// member may publish to: the server refuses, or they do nothing.
func TestHeadersReachNoFurther(t *testing.T) {
	g := newGround(t)
	before := g.stored()
	f := g.names
	other := f.BucketSubject(subjects.Heartbeat, victim)
	headers := []nats.Header{
		{"Nats-Rollup": {"all"}},
		{"Nats-Rollup": {"sub"}},
		{"Nats-TTL": {"1s"}},
		{"Nats-TTL": {"never"}},
		{"Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}, "Nats-Schedule-Target": {other}},
		{"Nats-Schedule": {"@every 1s"}, "Nats-Schedule-Target": {other}},
		{"Nats-Batch-Id": {"x"}, "Nats-Batch-Sequence": {"1"}, "Nats-Batch-Commit": {"1"}},
		{"Nats-Batch-Id": {"x"}, "Nats-Batch-Sequence": {"1"}},
		{"Nats-Trace-Dest": {other}},
		{"Nats-Trace-Dest": {"_INBOX.x"}, "Nats-Trace-Only": {"true"}},
		{"KV-Operation": {"PURGE"}},
		{"KV-Operation": {"DEL"}},
		{"Nats-Marker-Reason": {"Purge"}},
		{"Nats-Msg-Id": {"1"}},
		{"Nats-Expected-Stream": {f.BucketStream(subjects.State)}},
		{"Nats-Expected-Last-Sequence": {"1"}},
		{"Nats-Expected-Last-Subject-Sequence": {"1"}, "Nats-Expected-Last-Subject-Sequence-Subject": {other}},
		{"Nats-Expected-Last-Msg-Id": {"x"}},
		{"Nats-Incr": {"1"}},
		{"Nats-Request-Info": {`{"acc":"HUB","user":"hub"}`}},
		{"Nats-Stream-Source": {f.BucketStream(subjects.State) + " 1 > >"}},
	}
	for _, own := range g.writable() {
		for _, h := range headers {
			require.NoError(t, g.mallory.PublishMsg(&nats.Msg{Subject: own, Header: h, Data: []byte(`{"boot":"` + marker + `"}`)}))
		}
	}
	require.NoError(t, g.mallory.Flush())
	g.unharmed(before)
}

// writable is a subject of each kind that the attacker may publish to.
func (g *ground) writable() []string {
	f := g.names
	return []string{
		f.BucketSubject(subjects.Heartbeat, attacker), f.BucketSubject(subjects.Result, subjects.ResultSlotKey(attacker, subjects.ResultSlot("placement", "web"))),
		f.NodeEvent(attacker, "n1"), f.NodeInventory(attacker), f.Inventory(attacker),
	}
}

// Bodies that have stopped, filled or confused readers of JSON.
func TestMalformedBodiesStopNobody(t *testing.T) {
	g := newGround(t)
	before := g.stored()
	deep := strings.Repeat(`{"node":`, 200_000)
	for _, own := range g.writable() {
		for _, body := range []string{
			"", "null", "[]", "0", `"`, "{", "\x00", "\xff\xfe{}", marker, `{"properties":{"a":{"value":"NaN"}}}`, `{"properties":{"a":{"value":"1e-999999999"}}}`,
			`{"properties":{"a":{"value":"` + strings.Repeat("9", 10_000) + `"}}}`, `{"order":{"epoch":18446744073709551615,"term":18446744073709551615,"generation":18446744073709551615}}`,
			`{"held":{"placement":{"epoch":9223372036854775807,"term":18446744073709551615,"generation":9223372036854775807}}}`,
			`{"labels":{"` + strings.Repeat("k", 5000) + `":"v","kubernetes-fleet.io/member-name":"oslo"}}`, `{"member":"oslo","boot":"` + marker + `"}`,
			`{"time":"9999-12-31T23:59:59Z"}`, `{"time":"-0001-01-01T00:00:00Z"}`, `{"node":{"name":"n1","pods":[` + strings.TrimSuffix(strings.Repeat("{},", 100_000), ",") + `]}}`,
			deep, "z\x1f\x8b\x08", "z" + strings.Repeat("\x00", 1000), strings.Repeat("x", 900<<10), `{"kind":"Heartbeat","level":999999}`, `{"level":-1}`,
		} {
			require.NoError(t, g.mallory.Publish(own, []byte(body)))
		}
	}
	for _, size := range []int{1 << 20, 4 << 20, 8<<20 - 1000} {
		require.NoError(t, g.mallory.Publish(g.writable()[0], make([]byte, size)))
	}
	require.NoError(t, g.mallory.Flush())
	g.unharmed(before)
}
