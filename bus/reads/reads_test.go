package reads_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/reads"
	"flotilla/subjects"
)

var names = subjects.Fleet{Name: bustest.Fleet}

// What agents read comes from the streams, with all headers, and what is not there is answered as servers do. That a server could read more
// at once, from elsewhere, or to another place does not help who asks for it: a read has no body.
func TestReadsAreAnsweredAsServersDo(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	hub := server.Hub(t)
	agent, _ := bustest.Raw(t, server, "oslo")
	subject, stream := bustest.StoreContent(t, hub, 100), names.BucketStream(subjects.Content)
	direct, err := hub.NC.Request(subjects.DirectGet(stream, subject), nil, time.Minute)
	require.NoError(t, err)
	found, err := agent.Request(subjects.DirectGet(stream, subject), nil, time.Minute)
	require.NoError(t, err)
	require.Equal(t, direct.Header, found.Header)
	require.Equal(t, direct.Data, found.Data)
	require.Empty(t, server.Reads.Held())
	for name, body := range map[string]string{
		"with a batch": `{"batch":100,"seq":1}`, "of a subject": `{"last_by_subj":"flotilla.test.command.rome.placement"}`, "of no sense": "{",
	} {
		t.Run(name, func(t *testing.T) {
			found, err := agent.Request(subjects.DirectGet(stream, subject), []byte(body), time.Minute)
			require.NoError(t, err)
			require.Equal(t, "408 expected no body", found.Header.Get(bus.HeaderStatus)+" "+found.Header.Get(bus.HeaderDescription))
			require.Empty(t, found.Data)
		})
	}
	require.Equal(t, "member/oslo", server.Reads.Held()[0].Object)
	missing, err := agent.Request(subjects.DirectGet(stream, names.BucketSubject(subjects.Content, strings.Repeat("f", 64))), nil, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "404", missing.Header.Get(bus.HeaderStatus))
}

// Of one member so many reads wait and no more; who has more is refused and named, until a minute after, and nobody else is.
func TestTooManyReadsAreRefused(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	r := server.Reads
	large, small := bustest.StoreContent(t, server.Hub(t), 900<<10), bustest.StoreContent(t, server.Hub(t), 10)
	stream := names.BucketStream(subjects.Content)
	mallory, _ := bustest.Raw(t, server, "mallory")
	answers := make(chan *nats.Msg, 1000)
	_, err := mallory.ChanSubscribe(subjects.Inbox("mallory")+".x", answers)
	require.NoError(t, err)
	began := time.Now()
	for range 200 {
		require.NoError(t, mallory.PublishRequest(subjects.DirectGet(stream, large), subjects.Inbox("mallory")+".x", nil))
	}
	counts := map[string]int{}
	for range 100 {
		counts[bustest.Within(t, answers, "an answer").Header.Get(bus.HeaderStatus)]++
	}
	sent := 8 + 16*time.Since(began).Seconds() // MiB, and one more
	require.LessOrEqual(t, float64(counts[""]-1)*900/1024, sent, "%v", counts)
	require.Equal(t, 100, counts[""]+counts["429"], "%v", counts)
	require.Positive(t, counts["429"])

	oslo, _ := bustest.Raw(t, server, "oslo")
	found, err := oslo.Request(subjects.DirectGet(stream, small), nil, time.Minute)
	require.NoError(t, err)
	require.Len(t, found.Data, 10)
	held := r.Held()
	require.Len(t, held, 1)
	require.Equal(t, "member/mallory", held[0].Object)
	require.False(t, held[0].Since.IsZero())
	require.Equal(t, "reads more than a hub sends it, which is 8 MiB at once and 16 MiB a second: beyond 64 reads that wait more are refused", held[0].Text())
}

// Content that many are given waits for no server, however many reads do.
func TestWhatWasReadWaitsForNobody(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	known, other := bustest.StoreContent(t, server.Hub(t), 100), bustest.StoreContent(t, server.Hub(t), 200)
	read := func(member, subject string) (*nats.Msg, error) {
		agent, _ := bustest.Raw(t, server, member)
		return agent.Request(subjects.DirectGet(names.BucketStream(subjects.Content), subject), nil, time.Second)
	}
	_, err := read("oslo", known)
	require.NoError(t, err)
	server.Reads.TakeSlots()
	defer server.Reads.FreeSlots()
	found, err := read("rome", known)
	require.NoError(t, err)
	require.Len(t, found.Data, 100)
	_, err = read("bonn", other)
	require.ErrorIs(t, err, nats.ErrTimeout)
}

// A member is sent so much at once, and then so much a second.
func TestWhatIsReadHasARate(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	subject := bustest.StoreContent(t, server.Hub(t), 1<<20-1024)
	oslo, _ := bustest.Raw(t, server, "oslo")
	began := time.Now()
	for range 20 {
		found, err := oslo.Request(subjects.DirectGet(names.BucketStream(subjects.Content), subject), nil, time.Minute)
		require.NoError(t, err)
		require.Empty(t, found.Header.Get(bus.HeaderStatus))
	}
	require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond, "20 MiB are 8 at once and 12 at 16 a second")
}

// Who reads while no hub answers is answered by the next that does.
func TestAReadWaitsForAHub(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	subject := bustest.StoreContent(t, server.Hub(t), 100)
	oslo, err := server.AgentOptions(t, "oslo").Connect("oslo", nats.CustomInboxPrefix(subjects.Inbox("oslo")))
	require.NoError(t, err)
	t.Cleanup(oslo.Close)
	server.Reads.Stop()
	_, err = oslo.NC.Request(subjects.DirectGet(names.BucketStream(subjects.Content), subject), nil, time.Minute)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	asked, found := oslo.NC.Stats().OutMsgs, make(chan error, 1)
	go func() {
		_, err := oslo.Direct(bustest.Context(t), names.BucketStream(subjects.Content), subject)
		found <- err
	}()
	bustest.Eventually(t, func() error {
		if oslo.NC.Stats().OutMsgs == asked {
			return errors.New("it did not ask")
		}
		return nil
	})
	server.ReadAnew(t)
	require.NoError(t, bustest.Within(t, found, "the content"))
}

// flood has a member ask so often for a subject, with a body, and returns where the answers come.
func flood(t *testing.T, server *bustest.Server, subject string, times int, body []byte) (answers chan *nats.Msg) {
	t.Helper()
	mallory, _ := bustest.Raw(t, server, "mallory")
	inbox := subjects.Inbox("mallory") + ".x"
	answers = make(chan *nats.Msg, times)
	_, err := mallory.ChanSubscribe(inbox, answers)
	require.NoError(t, err)
	for range times {
		require.NoError(t, mallory.PublishRequest(subjects.DirectGet(names.BucketStream(subjects.Content), subject), inbox, body))
	}
	require.NoError(t, mallory.Flush())
	return answers
}

// A hub that leaves has whoever waits ask another one at once.
func TestAHubThatLeavesAnswersWhatWaits(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	const asked = 40 // of 900 KiB, of which the first nine are sent at once
	answers := flood(t, server, bustest.StoreContent(t, server.Hub(t), 900<<10), asked, nil)
	counts := map[string]int{}
	counts[bustest.Within(t, answers, "the first").Header.Get(bus.HeaderStatus)]++
	server.Reads.Stop()
	for range asked - 1 {
		counts[bustest.Within(t, answers, "another").Header.Get(bus.HeaderStatus)]++
	}
	require.GreaterOrEqual(t, counts[bus.StatusNoResponders], 20, "%v", counts)
	require.Equal(t, asked, counts[""]+counts[bus.StatusNoResponders], "%v", counts)
}

// While a hub does not get on, servers keep what comes, and none of it is lost by the hub. A server names each answer that it waits for by six
// characters at random: of so many two may have the same name, and then one is lost.
func TestOfAFloodSoMuchIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		asked, body            int
		least, messages, bytes int // that wait, and no more: what one reading holds comes on top
		lost                   int // by the server
	}{
		"of many reads":  {asked: 10_000, least: 4096, messages: 4096 + 512, bytes: 16 << 20, lost: 1},
		"of large reads": {asked: 60, body: 900 << 10, least: 16, messages: 4096, bytes: 18 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			server := bustest.Start(t)
			server.Lead(t)
			subject := bustest.StoreContent(t, server.Hub(t), 10)
			server.Reads.Stop()
			goesOn := make(chan struct{})
			o := server.TCP()
			o.CA = server.CAFile()
			r, err := reads.Serve(bustest.Context(t), o, func(string, bool) { <-goesOn })
			require.NoError(t, err)
			t.Cleanup(r.Stop)
			answers := flood(t, server, subject, c.asked, make([]byte, c.body))
			bustest.Eventually(t, func() error {
				if messages, bytes := r.Pending(); messages < c.least {
					return fmt.Errorf("%d wait, %d bytes", messages, bytes)
				}
				return nil
			})
			require.Never(t, func() bool {
				messages, bytes := r.Pending()
				return messages > c.messages || bytes > c.bytes
			}, 300*time.Millisecond, 5*time.Millisecond)
			close(goesOn)
			for range c.asked - c.lost {
				bustest.Within(t, answers, "an answer")
			}
		})
	}
}
