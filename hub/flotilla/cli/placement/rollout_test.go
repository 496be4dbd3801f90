package placement

import (
	"bytes"
	"context"
	"testing"
	"time"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestARolloutThatEndsEarlySaysHow(t *testing.T) {
	over, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	broken, interrupt := context.WithCancel(t.Context())
	interrupt()
	r := resource.Named(api.KindClusterResourcePlacement, "web")
	stalled := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": "ClusterResourcePlacementRolloutProgressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "no member has advanced for 10m; held up by oslo",
	}}}}}
	for name, c := range map[string]struct {
		err  error
		code int
		text string
	}{
		"no answer":  {rolloutTimeout(over, r, time.Second, ""), session.ExitUnreachable, "no hub answered about placement/web within 1s"},
		"time is up": {rolloutTimeout(over, r, time.Second, "placement/web: 1 of 2"), session.ExitTimedOut, "placement/web is not done after 1s: 1 of 2"},
		"unanswered": {rolloutTimeout(broken, r, 0, ""), session.ExitTimedOut, "interrupted before the hub said how far placement/web is"},
		"interrupted": {
			rolloutTimeout(broken, r, time.Hour, "placement/web: 1 of 2"), session.ExitTimedOut,
			"interrupted, placement/web: 1 of 2; the rollout goes on without this command",
		},
		"stuck": {stuck(r, stalled), session.ExitPartial, "placement/web stands still: no member has advanced for 10m; held up by oslo"},
	} {
		f := session.FailureOf(c.err)
		require.Equal(t, c.code, f.Code, name)
		require.Equal(t, c.text, f.Message, name)
		require.NotEmpty(t, f.Next, name)
	}
}

func TestRolloutEndsWhereMembersAreMissing(t *testing.T) {
	short := clitest.ObjectsOf(t, clitest.Everywhere)[0]
	require.NoError(t, unstructured.SetNestedField(short.Object, int64(5), "status", "counts", "want"))
	require.NoError(t, unstructured.SetNestedSlice(short.Object, []any{map[string]any{
		"type": "ClusterResourcePlacementScheduled", "status": "False", "reason": "SchedulingPolicyUnfulfilled",
		"observedGeneration": int64(1), "message": "found 2",
	}}, "status", "conditions"))
	_, done := rolloutLine(short)
	require.False(t, done)
	require.True(t, lacksMembers(short))

	require.NoError(t, unstructured.SetNestedField(short.Object, int64(1), "status", "counts", "available"))
	require.False(t, lacksMembers(short), "the members it has are not done yet")
}

func TestRolloutLineIsDoneOnlyWhenEverythingIs(t *testing.T) {
	objects := clitest.ObjectsOf(t, clitest.Web, clitest.Everywhere)
	line, done := rolloutLine(objects[0])
	require.False(t, done)
	require.Equal(t, "placement/web: 3 of 4 current, 3 applied, 2 available, 1 failed; held up by lyon: Deployment shop/cart 0 of 2 available", line)

	line, done = rolloutLine(objects[1])
	require.True(t, done)
	require.Equal(t, "placement/everywhere: rolled out, 2 of 2 current, 2 applied, 2 available", line)

	objects[1].SetGeneration(2)
	line, done = rolloutLine(objects[1])
	require.False(t, done)
	require.Equal(t, "placement/everywhere: waiting for the hub to look at generation 2", line)
}

func TestProgressIsABarOnATerminalOnly(t *testing.T) {
	placement := clitest.ObjectsOf(t, clitest.Web)[0]
	shown := func(terminal bool) string {
		var out bytes.Buffer
		a := Commands{Client: resource.New(session.New(session.Environment{Out: &out, Terminal: terminal}))}
		a.progress(placement, "half", "", false)
		a.progress(placement, "half", "half", true)
		return out.String()
	}
	require.Equal(t, "half\n", shown(false))
	require.Equal(t, "\r\033[K[##########----------] half\r\033[K[##########----------] half\n", shown(true))
	require.Equal(t, "[--------------------]", session.Bar(0, 0))
	require.Equal(t, "[####################]", session.Bar(9, 3))
}
