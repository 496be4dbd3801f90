package reads

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// desksOf is a Reader that answers nothing.
func desksOf() *Reader {
	return &Reader{desks: map[string]*desk{}, held: held{}, begin: func(*desk) {}}
}

func TestMoreReadsOfALeafNodeWait(t *testing.T) {
	r, now := desksOf(), time.Unix(1e9, 0)
	for whose, most := range map[string]int{objectOf("oslo", false): mostWaiting, objectOf("edge", true): mostOfLeaf} {
		for range most {
			require.True(t, r.wait(whose, read{asked: now}))
		}
		require.False(t, r.wait(whose, read{asked: now}), whose)
	}
}

// Who reads nothing any more is forgotten a minute later, unless a read waits or more was sent of late than a member is sent.
func TestDesksAreForgotten(t *testing.T) {
	r, now := desksOf(), time.Unix(1e9, 0)
	sent.Spend(&r.desk("owes", now).sent, now, int(2*sweepEvery/sent.Every))
	r.desk("rests", now)
	require.True(t, r.wait("waits", read{asked: now}))
	now = now.Add(sweepEvery)
	r.desk("comes", now)
	require.Len(t, r.desks, 3)
	require.NotContains(t, r.desks, "rests")
}
