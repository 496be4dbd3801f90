package bustest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/subjects"
)

// StoreContent stores content of so many bytes as a hub would, at a place of its own for each size, and returns its subject.
func StoreContent(t testing.TB, hub *bus.Conn, size int) (subject string) {
	t.Helper()
	subject = hub.Fleet.BucketSubject(subjects.Content, fmt.Sprintf("%064x", size))
	_, err := hub.JS.Publish(Context(t), subject, bytes.Repeat([]byte("x"), size))
	require.NoError(t, err)
	return subject
}
