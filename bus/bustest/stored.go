package bustest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"testing"

	"flotilla/bus"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// StoredKeys lists what bucket state really holds.
func StoredKeys(t testing.TB, c *bus.Conn, filter string) []string {
	t.Helper()
	stream, err := c.JS.Stream(Context(t), c.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	info, err := stream.Info(Context(t), jetstream.WithSubjectFilter(c.Fleet.BucketSubject(subjects.State, filter)))
	require.NoError(t, err)
	keys := []string{}
	for subject := range info.State.Subjects {
		key, ok := c.Fleet.BucketKey(subjects.State, subject)
		require.True(t, ok)
		keys = append(keys, key)
	}
	return keys
}

// Noise is text of n random bytes, which hardly compresses to less.
func Noise(n int) string {
	text := make([]byte, n)
	_, _ = rand.Read(text) // which never fails
	return base64.StdEncoding.EncodeToString(text)
}

// Stored reads the newest event of a subject as it lies in the stream, and unpacks it into a T.
func Stored[T any](t testing.TB, c *bus.Conn, subject string) (value T, body []byte) {
	t.Helper()
	stream, err := c.JS.Stream(Context(t), c.Fleet.Stream(subjects.Events))
	require.NoError(t, err)
	m, err := stream.GetLastMsgForSubject(Context(t), subject)
	require.NoError(t, err)
	text, err := bus.Unpack(m.Data)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &value))
	return value, m.Data
}
