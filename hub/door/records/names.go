package records

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/core/validate"
	"flotilla/subjects"
)

// EventName is how events name an object: "placement/web", "member/berlin", "object/ConfigMap/ns/web".
func EventName(ref api.ObjectRef) string {
	switch token := validate.TokenOf(ref.APIVersion, ref.Kind); {
	case token == "":
		return api.AuditObject(subjects.KindObject, ref.String())
	case ref.Kind == api.KindResourcePlacement, inNamespaces(ref.Kind):
		return api.AuditObject(token, ref.Namespace, ref.Name)
	default:
		return api.AuditObject(token, ref.Name)
	}
}

// Typed is how an object is typed at the command line.
func Typed(ref api.ObjectRef) string {
	switch {
	case ref.Kind == api.KindClusterResourcePlacement, ref.Kind == api.KindResourcePlacement:
		return health.TypedPlacement(ref.Namespace, ref.Name)
	case inNamespaces(ref.Kind):
		return typedInside[ref.Kind] + "/" + ref.Name + " -n " + ref.Namespace
	case validate.Known(ref.APIVersion, ref.Kind):
		return EventName(ref)
	case ref.Namespace != "":
		return ref.Kind + "/" + ref.Name + " -n " + ref.Namespace
	}
	return ref.Kind + "/" + ref.Name
}

// NotFound is the answer about an object that is not there.
func NotFound(ref api.ObjectRef) *api.Failure {
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
	case Kinds[ref.Kind].Token != "", known:
		plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(ref.Kind))
		words = plural.Resource
	}
	if ref.Namespace != "" {
		words += " -n " + ref.Namespace
	}
	return words
}

// Missing says what to do about an object that is not there; a member that only waits to be admitted
// is a case of its own.
func (r *Tables) Missing(ref api.ObjectRef) *api.Failure {
	if _, _, seen := r.Seen.Get(ref.Name); seen && ref.Kind == api.KindMemberCluster {
		return &api.Failure{
			Code: api.CodeNotFound, Message: ref.String() + ": it heartbeats, but nobody admitted it to the fleet",
			Next: "flotilla member admit " + ref.Name,
		}
	}
	return NotFound(ref)
}

// Unreadable is the answer about an object whose record cannot be decoded.
func Unreadable(ref api.ObjectRef, err error) *api.Failure {
	return &api.Failure{
		Code: api.CodeInternal, Message: fmt.Sprintf("%s is stored and cannot be read: %s; apply it again or delete it", ref, err),
		Next: "flotilla events " + Typed(ref),
	}
}
