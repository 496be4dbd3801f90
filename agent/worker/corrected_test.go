package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/apply"
)

// correcting is what came of writing an object over that was changed on the member.
func correcting(name, fields string, err error) performed {
	return performed{op: apply.Op{
		Verb: apply.Replace, ObjectRef: api.ObjectRef{Kind: "ConfigMap", Namespace: "shop", Name: name}, Drifted: fields,
	}, err: err}
}

// An object stays told of until nobody changed it for a while, as it was when it was corrected first.
func TestCorrectionsEnd(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c := newCorrections(nil, at)
	e := api.IndexEntry{Placement: "web", UID: "u1"}
	read := func(uid string, now time.Time) (names []string, over time.Time) {
		r := api.PlacementResult{Placement: "web", UID: uid}
		over = c.tell(&r, now)
		for _, one := range r.Corrected {
			names = append(names, one.Name+" "+one.Fields+" "+one.Since.UTC().Format(time.TimeOnly))
		}
		require.Equal(t, len(names), r.CorrectedTotal)
		return names, over
	}
	c.note(e, []performed{correcting("b", "/data/x", nil), correcting("failed", "/data", errors.New("refused")), correcting("created", "", nil)}, at)
	names, over := read("u1", at)
	require.Equal(t, []string{"b /data/x 12:00:00"}, names)
	require.Equal(t, at.Add(correctedFor), over)

	c.note(e, []performed{correcting("b", "/data/y", nil), correcting("a", "/data", nil)}, at.Add(time.Minute))
	names, over = read("u1", at.Add(correctedFor))
	require.Equal(t, []string{"a /data 12:01:00", "b /data/x 12:00:00"}, names)
	require.Equal(t, at.Add(time.Minute+correctedFor), over)
	names, _ = read("u2", at)
	require.Empty(t, names, "a placement that was made again is another one")
	names, over = read("u1", over)
	require.Empty(t, names)
	require.Zero(t, over)
}

// However many objects were changed, a result stays small, and counts them.
func TestCorrectionsAreBounded(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c := newCorrections(nil, at)
	var done []performed
	for i := range 500 {
		done = append(done, correcting(fmt.Sprintf("%s%03d", strings.Repeat("n", 200), i), strings.Repeat("/data/x", 100), nil))
	}
	c.note(api.IndexEntry{Placement: "web", UID: "u1"}, done, at)
	r := api.PlacementResult{Placement: "web", UID: "u1"}
	for range 100 {
		r.Failures = append(r.Failures, api.ManifestFailure{Message: strings.Repeat("m", maxMessage)})
	}
	c.tell(&r, at)
	require.Len(t, r.Corrected, maxCorrected)
	require.Len(t, r.Corrected[0].Fields, maxFields)
	cut(&r)
	require.Equal(t, 500, r.CorrectedTotal)
	body, err := json.Marshal(r)
	require.NoError(t, err)
	require.LessOrEqual(t, len(body), maxResult)
}
