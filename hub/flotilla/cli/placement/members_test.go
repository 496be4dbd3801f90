package placement

import (
	"bytes"
	"testing"
	"time"

	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	"github.com/stretchr/testify/require"
)

func TestWatchedMembersThatOutgrowTheirHeadGetAWiderOne(t *testing.T) {
	var out bytes.Buffer
	now := clitest.Now
	a := resource.New(session.New(session.Environment{Out: &out, Now: func() time.Time { return now }}))
	lines := &lineTable{session: a.Session}
	berlin := memberLine{member: "berlin", snapshot: "1", state: "Applied", since: clitest.Now.Add(-time.Minute)}
	require.NoError(t, lines.print([]memberLine{berlin}))
	require.NoError(t, lines.print([]memberLine{{member: "johannesburg", snapshot: "1", state: "Withdrawing", since: clitest.Now}}))
	now = now.Add(48 * time.Hour)
	require.NoError(t, lines.print([]memberLine{berlin}))
	require.Equal(t, `MEMBER   SNAPSHOT   STATE     SINCE   MESSAGE
berlin   1          Applied   60s     -
MEMBER         SNAPSHOT   STATE         SINCE   MESSAGE
johannesburg   1          Withdrawing   0s      -
berlin         1          Applied       2d      -
`, out.String())
}
