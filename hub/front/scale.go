package front

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"

	"flotilla/core/strict"
)

// scaled are the kinds that have a number of replicas to change.
var scaled = map[string]bool{"Deployment": true, "StatefulSet": true, "ReplicaSet": true, "ReplicationController": true}

func (k *kind) scales() bool { return !k.ours && k.definition == nil && scaled[k.Kind] }

// scales answers for the number of replicas of objects alone.
type scales struct{ *storage }

var _ rest.Patcher = scales{}

// New is an empty scale.
func (scales) New() runtime.Object { return &autoscalingv1.Scale{} }

// Get is the scale of an object.
func (s scales) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := s.held(ctx, name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, s.missing(name)
	}
	return scaleOf(found.Object), nil
}

// Update changes how many replicas an object is to have.
func (s scales) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc, _ rest.ValidateObjectUpdateFunc, _ bool, o *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	changed, _, err := s.storage.Update(ctx, name, rescaled{info}, nil, nil, false, o)
	if err != nil {
		return nil, false, err
	}
	return scaleOf(changed.(*unstructured.Unstructured)), false, nil
}

// rescaled changes an object as its scale was changed.
type rescaled struct{ rest.UpdatedObjectInfo }

// UpdatedObject is the object with the replicas of its changed scale.
func (r rescaled) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	u := old.(*unstructured.Unstructured)
	changed, err := r.UpdatedObjectInfo.UpdatedObject(ctx, scaleOf(u))
	if err != nil {
		return nil, err
	}
	scale, is := changed.(*autoscalingv1.Scale)
	if !is {
		return nil, apierrors.NewBadRequest("expected a Scale of autoscaling/v1")
	}
	u.SetResourceVersion(scale.ResourceVersion)
	return u, unstructured.SetNestedField(u.Object, int64(scale.Spec.Replicas), "spec", "replicas")
}

func scaleOf(u *unstructured.Unstructured) *autoscalingv1.Scale {
	wanted, found, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !found {
		wanted = 1
	}
	have, _, _ := unstructured.NestedInt64(u.Object, "status", "replicas")
	selector := ""
	if chosen, found, _ := unstructured.NestedMap(u.Object, "spec", "selector"); found {
		var s metav1.LabelSelector
		if strict.FromUnstructured(chosen, &s) == nil {
			selector = metav1.FormatLabelSelector(&s)
		}
	}
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), CreationTimestamp: u.GetCreationTimestamp(),
		},
		Spec: autoscalingv1.ScaleSpec{Replicas: int32(wanted)}, Status: autoscalingv1.ScaleStatus{Replicas: int32(have), Selector: selector},
	}
}

// scaleScheme knows scales and what is asked of them, and nothing else: bodies name their kind.
var scaleScheme = schemeOf(autoscalingv1.SchemeGroupVersion, &autoscalingv1.Scale{})

// schemeOf knows some kinds of a version.
func schemeOf(gv schema.GroupVersion, known ...runtime.Object) *runtime.Scheme {
	s := newMetaScheme()
	s.AddKnownTypes(gv, known...)
	metav1.AddToGroupVersion(s, gv)
	return s
}

// scaleScope is the scope of a kind for its scale.
func scaleScope(of *handlers.RequestScope) (*handlers.RequestScope, error) {
	scope, known := *of, scaleScheme
	scope.Subresource, scope.Kind = "scale", autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	scope.Serializer, scope.StandardSerializers = serializer.NewCodecFactory(known), nil
	scope.Creater, scope.Convertor, scope.UnsafeConvertor, scope.Typer, scope.Defaulter = known, known, known, known, known
	scope.HubGroupVersion = autoscalingv1.SchemeGroupVersion
	var err error
	scope.FieldManager, err = managedfields.NewDefaultFieldManager(builtInTypes, known, known, known, scope.Kind, scope.HubGroupVersion, scope.Subresource, nil)
	return &scope, err
}
