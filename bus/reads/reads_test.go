package reads_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/subjects"
)

var names = subjects.Fleet{Name: bustest.Fleet}

// place is where content of so many bytes is stored.
func place(t *testing.T, c *bus.Conn, size int) string {
	t.Helper()
	subject := names.BucketSubject(subjects.Content, fmt.Sprintf("%064x", size))
	_, err := c.JS.Publish(bustest.Context(t), subject, bytes.Repeat([]byte("x"), size))
	require.NoError(t, err)
	return subject
}

// What agents read comes from the streams, with all headers, and what is not there is answered as servers do. That a server could read more
// at once, from elsewhere, or to another place does not help who asks for it: a read has no body.
func TestReadsAreAnsweredAsServersDo(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	hub := server.Hub(t)
	agent, _ := bustest.Raw(t, server, "oslo")
	subject, stream := place(t, hub, 100), names.BucketStream(subjects.Content)
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
	large, small := place(t, server.Hub(t), 900<<10), place(t, server.Hub(t), 10)
	stream := names.BucketStream(subjects.Content)
	mallory, _ := bustest.Raw(t, server, "mallory")
	answers := make(chan *nats.Msg, 1000)
	_, err := mallory.ChanSubscribe(subjects.Inbox("mallory")+".x", answers)
	require.NoError(t, err)
	for range 200 {
		require.NoError(t, mallory.PublishRequest(subjects.DirectGet(stream, large), subjects.Inbox("mallory")+".x", nil))
	}
	counts := map[string]int{}
	for range 100 {
		counts[bustest.Within(t, answers, "an answer").Header.Get(bus.HeaderStatus)]++
	}
	require.GreaterOrEqual(t, counts["429"], 80, "%v", counts)

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

// A member is sent so much at once, and then so much a second.
func TestWhatIsReadHasARate(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	subject := place(t, server.Hub(t), 1<<20-1024)
	oslo, _ := bustest.Raw(t, server, "oslo")
	began := time.Now()
	for range 20 {
		found, err := oslo.Request(subjects.DirectGet(names.BucketStream(subjects.Content), subject), nil, time.Minute)
		require.NoError(t, err)
		require.Empty(t, found.Header.Get(bus.HeaderStatus))
	}
	require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond, "20 MiB are 8 at once and 12 at 16 a second")
}
