package door

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

func unavailable(err error) *api.Failure {
	return &api.Failure{Code: api.CodeUnavailable, Message: "the hub is not ready: " + err.Error(), Next: "flotilla status"}
}

// translate turns errors of the bus into failures that a client can act on.
func translate(err error) error {
	var failure *api.Failure
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.Is(err, bus.ErrDeposed), errors.Is(err, bus.ErrNotSynced), errors.Is(err, bus.ErrConflict):
		return unavailable(err)
	case errors.Is(err, bus.ErrTooLarge):
		return &api.Failure{Code: api.CodeTooLarge, Message: err.Error()}
	}
	return err
}

func notFound(ref api.ObjectRef) *api.Failure {
	return &api.Failure{
		Code: api.CodeNotFound, Message: fmt.Sprintf("%s: no such object", ref),
		Next: "flotilla get " + listing(ref),
	}
}

// listing is how the command line lists objects like ref: "deployments -n shop".
func listing(ref api.ObjectRef) string {
	gv, _ := schema.ParseGroupVersion(ref.APIVersion)
	words := ref.Kind
	switch _, known := api.KindNamespaced(gv.Group, ref.Kind); {
	case ref.Kind == api.KindClusterResourcePlacement:
		return "placements"
	case ref.Kind == api.KindResourcePlacement:
		words = "rp"
	case ref.Kind == api.KindMemberCluster:
		return "members"
	case namedKinds[ref.Kind].token != "", known:
		plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(ref.Kind))
		words = plural.Resource
	}
	if ref.Namespace != "" {
		words += " -n " + ref.Namespace
	}
	return words
}

// refusal is every fault of a request in one failure. What kind of faults there are decides its code. What to
// type next only the client knows, who knows the files.
type refusal struct {
	faults strict.Faults
	// tooLarge counts faults that are not about the form of a document.
	tooLarge int
}

func (r *refusal) failure(documents int) *api.Failure {
	if len(r.faults) == 0 {
		return nil
	}
	code := api.CodeInvalid
	if len(r.faults) == r.tooLarge {
		code = api.CodeTooLarge
	}
	return &api.Failure{
		Code: code, Faults: r.faults,
		Message: fmt.Sprintf("nothing was applied: %s in %s", api.Counted(len(r.faults), "fault"), api.Counted(documents, "document")),
	}
}

// typed is how an object is typed at the command line.
func typed(ref api.ObjectRef) string {
	switch {
	case ref.Kind == api.KindClusterResourcePlacement, ref.Kind == api.KindResourcePlacement:
		return health.TypedPlacement(ref.Namespace, ref.Name)
	case validate.Known(ref.APIVersion, ref.Kind):
		return auditName(ref)
	case ref.Namespace != "":
		return ref.Kind + "/" + ref.Name + " -n " + ref.Namespace
	}
	return ref.Kind + "/" + ref.Name
}
