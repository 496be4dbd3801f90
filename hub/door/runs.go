package door

import (
	"encoding/json"
	"fmt"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// Runs is the one way in for update runs that no person applied: what it says is written belongs into the batch of
// whoever makes a run, or removes it.
type Runs struct{ specs *store.Records[api.Spec] }

// NewRuns returns the way in on the records of a state.
func NewRuns(s *store.State) *Runs {
	return &Runs{store.Writes[api.Spec](s.As(subjects.Door), subjects.RunSpecs)}
}

// Enter creates the spec of a run, as if it had been applied.
func (r *Runs) Enter(run *api.UpdateRun) (store.Op, error) {
	body, err := json.Marshal(run)
	if err != nil {
		return store.Op{}, fmt.Errorf("encoding run %s: %w", run.Name, err)
	}
	return r.specs.Put(run.Name, &api.Spec{
		Header: api.NewHeader(api.KindSpec),
		Object: api.ObjectRef{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: run.Name},
		UID:    string(run.UID), Generation: run.Generation, Created: run.CreationTimestamp,
		Body: body, Size: len(body), Action: api.ActionCreated,
	}, 0), nil
}

// Leave removes the spec of a run; false when there is none.
func (r *Runs) Leave(run string) (op store.Op, found bool) {
	_, revision, found := r.specs.Get(run)
	return r.specs.Delete(run, revision), found
}
