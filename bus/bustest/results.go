package bustest

import (
	"testing"

	"flotilla/bus/store"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// LoseResult makes the broker lose the batch that holds a result of a member; again errs until the member
// has written it another time.
func LoseResult(t testing.TB, store *store.Store, member, kind, name string) (again func() error) {
	t.Helper()
	f := store.Conn.Fleet
	stream, err := store.Conn.JS.Stream(Context(t), f.BucketStream(subjects.Result))
	require.NoError(t, err)
	subject := f.BucketSubject(subjects.Result, subjects.ResultSlotKey(member, subjects.ResultSlot(kind, name)))
	require.NoError(t, stream.Purge(Context(t), jetstream.WithPurgeSubject(subject)))
	return func() error {
		_, err := stream.GetLastMsgForSubject(Context(t), subject)
		return err
	}
}
