package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// The revision that a run of files brings is the one that it names, else the newest that can be told.
func TestWhichRevisionARunOfFilesBrings(t *testing.T) {
	held := &api.Release{Entries: []api.ReleaseEntry{{Member: "a", Snapshot: 2}, {Member: "b", Snapshot: 3}}}
	underWay := &api.UpdateRunStatus{Content: &api.ContentRun{Snapshot: 5}}
	for name, c := range map[string]struct {
		named    string
		status   *api.UpdateRunStatus
		released Released
		want     int64
	}{
		"nothing is known":      {want: 1},
		"named":                 {named: "2", released: Released{Release: held, Latest: &api.Snapshot{Index: 3}}, want: 2},
		"under way":             {status: underWay, released: Released{Release: held, Latest: &api.Snapshot{Index: 1}}, want: 5},
		"what members hold":     {released: Released{Release: held, Latest: &api.Snapshot{Index: 3}}, want: 3},
		"newer than they hold":  {released: Released{Release: held, Latest: &api.Snapshot{Index: 1}, UnknownContent: noContent}, want: 4},
		"nobody holds anything": {released: Released{Latest: &api.Snapshot{Index: 1}}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := ContentRun{Run: &api.StagedUpdateRun{Spec: api.StagedUpdateRunSpec{ResourceSnapshotIndex: c.named}}, Status: c.status}
			r.View.Placement = &api.Placement{}
			r.View.Placement.UID = "u"
			got := r.brought(&c.released)
			require.Equal(t, c.want, got.Index)
			require.Equal(t, "u", got.UID)
		})
	}
}
