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

// typedInside are the kinds whose objects go by their namespace and their name, with the words for them.
var typedInside = map[string]string{
	api.KindResourceOverride: "ro", api.KindStagedUpdateRun: "sur", api.KindStagedUpdateStrategy: "sus",
}

func inNamespaces(kind string) bool { return typedInside[kind] != "" }

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

func runKey(spec *api.Spec) string { return api.Keyed(spec.Object.Namespace, spec.Object.Name) }

// RunStatus is the status of the run that spec is of, nil while the runner has not taken it up.
func (r *Tables) RunStatus(spec *api.Spec) *api.UpdateRunStatus {
	status, _, found := r.Runs.Get(runKey(spec))
	if !found || status.UID != spec.UID {
		return nil
	}
	return &status
}

// CertainRunStatus is RunStatus for those who change the run: a status that cannot be read is an error, as it may be
// that of a run in progress.
func (r *Tables) CertainRunStatus(spec *api.Spec) (*api.UpdateRunStatus, error) {
	if _, _, _, err := r.Runs.Find(runKey(spec)); err != nil {
		return nil, err
	}
	return r.RunStatus(spec), nil
}

// OurRequest says that a name is one of an approval request of a staged run.
func OurRequest(ref api.ObjectRef) bool {
	ours := ref.Kind == api.KindClusterApprovalRequest || ref.Kind == api.KindApprovalRequest
	return ours && (ref.APIVersion == "" || content.GroupOf(ref.APIVersion) == api.GroupPlacement)
}

// OurGate says that a name is one of a gate of a run, not of content of a kind called Gate.
func OurGate(ref api.ObjectRef) bool {
	return ref.Kind == api.KindGate && (ref.APIVersion == "" || content.GroupOf(ref.APIVersion) == api.GroupFlotilla)
}
