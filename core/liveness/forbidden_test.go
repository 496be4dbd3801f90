package liveness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// forbiddenEvents are the warnings of a plan about missing permissions.
func forbiddenEvents(p Plan) []string {
	var messages []string
	for _, e := range p.Events {
		if e.Reason == ReasonForbidden {
			messages = append(messages, e.Type+" "+e.Object+": "+e.Message)
		}
	}
	return messages
}

// A missing permission is warned of once while it lasts, and is in the record as long; it leaves the member Ready.
func TestAMissingPermissionIsWarnedOfOnce(t *testing.T) {
	forbid := func(what ...string) func(*Input) {
		return func(in *Input) { in.Heartbeat.Forbidden = what }
	}
	const secrets, jobs = "list secrets in namespace shop", "watch jobs.batch in the whole cluster"
	in := after(t, member(nil), time.Second, forbid(secrets))
	p := Record(in)
	require.True(t, p.Write, "it is not waited for")
	require.Equal(t, []string{"Warning member/berlin: its API server does not permit its agent to " + secrets + "; give its role these verbs"}, forbiddenEvents(p))
	require.Equal(t, []string{secrets}, p.Record.Forbidden)
	require.Equal(t, api.MemberReady, p.Record.State)

	require.False(t, Record(after(t, in, time.Second, forbid(secrets))).Write, "it is known")

	in = after(t, in, time.Second, forbid(jobs, secrets))
	p = Record(in)
	require.Equal(t, []string{"Warning member/berlin: its API server does not permit its agent to " + jobs + "; give its role these verbs"}, forbiddenEvents(p))
	require.Equal(t, []string{secrets, jobs}, p.Record.Forbidden, "sorted")

	in = after(t, in, time.Second, forbid())
	p = Record(in)
	require.True(t, p.Write)
	require.Empty(t, forbiddenEvents(p))
	require.Empty(t, p.Record.Forbidden)
	require.Len(t, forbiddenEvents(Record(after(t, in, time.Second, forbid(secrets)))), 1, "it is missing again")
}

func TestOfManyMissingPermissionsTheFirstAreNamed(t *testing.T) {
	require.Equal(t, "its API server does not permit its agent to a, b, c, d, e; give its role these verbs", ForbiddenText([]string{"a", "b", "c", "d", "e"}))
	require.Equal(t, "its API server does not permit its agent to a, b, c, d, e, and more; give its role these verbs", ForbiddenText([]string{"a", "b", "c", "d", "e", "f"}))
}
