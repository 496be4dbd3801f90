package rollout

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// check NAME|none puts what goes out under a RolloutCheck, whose record begins with the newest snapshot.
func (w *world) check(_ *testing.T, args []string) string {
	w.in.Checks = Checks{}
	if args[0] != "none" {
		w.in.Checks.Name = args[0]
	}
	return ""
}

// verdict checking|soaked|passed|stopped|rolling-back|rolled-back|back-failed: what the checker writes about the newest snapshot.
func (w *world) verdict(t *testing.T, args []string) string {
	latest := w.in.Latest
	r := &api.CheckRecord{UID: latest.UID, CheckStatus: api.CheckStatus{
		Check: w.in.Checks.Name, Snapshot: latest.Index, Phase: api.CheckChecking, Soak: &metav1.Duration{Duration: time.Minute},
	}}
	if before := w.in.Checks.Record; before != nil {
		r.Refused = before.Refused
	}
	phase := map[string]string{
		"passed": api.CheckPassed, "stopped": api.CheckStopped, "rolling-back": api.CheckRollingBack, "rolled-back": api.CheckRolledBack, "back-failed": api.CheckRollBackFailed,
	}[args[0]]
	switch args[0] {
	case "checking":
	case "soaked":
		r.Soaked = true
		for _, e := range w.in.Release.Entries {
			r.Given = max(r.Given, e.Generation)
		}
	case "passed":
		r.Phase = phase
	default:
		require.NotEmpty(t, phase, args[0])
		r.Phase = phase
		r.Refused = &api.CheckRefusal{Snapshot: latest.Index, Check: r.Check, At: metav1.NewTime(w.in.Now), Message: "errors failed"}
	}
	w.in.Checks.Record = r
	return ""
}

// undo INDEX WORK makes a snapshot with which a person went back.
func (w *world) undo(t *testing.T, args []string) string {
	index, err := strconv.ParseInt(args[0], 10, 64)
	require.NoError(t, err)
	w.in.Latest = &api.Snapshot{UID: string(w.in.Placement.UID), Index: index, Work: args[1], Undo: &api.Undo{Of: 1, Selected: "else"}}
	return ""
}
