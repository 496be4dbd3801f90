package records

import (
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/validate"
	"flotilla/subjects"
)

// Named says where the specs of a kind lie whose objects go by their name alone, one record each.
type Named struct {
	Token  string // of events
	Family subjects.Family
}

// Kinds are those whose objects go by their name alone.
var Kinds = named()

func named() map[string]Named {
	kinds := map[string]Named{}
	for kind, k := range validate.Kinds() {
		family, kept := subjects.SpecsOf(k.Token)
		if kept && family != subjects.PlacementSpecs && family != subjects.MemberSpecs {
			kinds[kind] = Named{k.Token, family}
		}
	}
	return kinds
}

// specsOf are the tables of the specs of named kinds, by kind.
func specsOf(a *store.Access) map[string]*store.Records[api.Spec] {
	specs := map[string]*store.Records[api.Spec]{}
	for kind, named := range Kinds {
		specs[kind] = store.Writes[api.Spec](a, named.Family)
	}
	return specs
}

// RunStatus is the status of the run that spec is of, nil while the runner has not taken it up.
func (r *Tables) RunStatus(spec *api.Spec) *api.UpdateRunStatus {
	status, _, found := r.Runs.Get(spec.Object.Name)
	if !found || status.UID != spec.UID {
		return nil
	}
	return &status
}

// CertainRunStatus is RunStatus for those who change the run: a status that cannot be read is an error, as it may be
// that of a run in progress.
func (r *Tables) CertainRunStatus(spec *api.Spec) (*api.UpdateRunStatus, error) {
	if _, _, _, err := r.Runs.Find(spec.Object.Name); err != nil {
		return nil, err
	}
	return r.RunStatus(spec), nil
}

// OurGate says that a name is one of a gate of a run, not of content of a kind called Gate.
func OurGate(ref api.ObjectRef) bool {
	return ref.Kind == api.KindGate && (ref.APIVersion == "" || content.GroupOf(ref.APIVersion) == api.GroupFlotilla)
}
