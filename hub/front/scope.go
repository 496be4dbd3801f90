package front

import (
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"flotilla/hub/front/bounds"
)

// mostCopied is how many bytes the copies of one JSON patch add at most, as in Kubernetes.
const mostCopied = 3 << 20

// The library has one bound for the whole process, which holds before anything is patched.
var _ = func() int64 {
	jsonpatch.AccumulatedCopySizeLimit = mostCopied
	return mostCopied
}()

// builtInTypes knows how server-side apply merges the kinds of Kubernetes; what it does not know merges as a whole.
var builtInTypes = applyconfigurations.NewTypeConverter(scheme.Scheme)

// newScope is what the handlers of Kubernetes need to know of a kind.
func (f *Front) newScope(k *kind, table rest.TableConvertor) (*handlers.RequestScope, error) {
	parameters := runtime.NewScheme()
	parameters.AddUnversionedTypes(k.GroupVersion(), &metav1.ListOptions{}, &metav1.GetOptions{}, &metav1.DeleteOptions{})
	convert, codec := asIs{k.GroupVersionKind}, f.codec.of(k)
	scope := &handlers.RequestScope{
		Namer:      handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor()), ClusterScoped: !k.namespaced},
		Serializer: codec, ParameterCodec: runtime.NewParameterCodec(parameters), StandardSerializers: codec.media,
		Creater: anyCreator{}, Convertor: convert, UnsafeConvertor: patchable{convert}, Defaulter: noDefaults{}, Typer: newTyper(),
		EquivalentResourceMapper: runtime.NewEquivalentResourceRegistry(), Authorizer: f, TableConvertor: table,
		Resource: k.groupVersionResource(), Kind: k.GroupVersionKind, HubGroupVersion: k.GroupVersion(), MetaGroupVersion: metav1.SchemeGroupVersion,
		MaxRequestBodyBytes: bounds.MostBody,
	}
	var err error
	scope.FieldManager, err = managedfields.NewDefaultCRDFieldManager(k.types(), convert, noDefaults{}, anyCreator{}, k.GroupVersionKind, k.GroupVersion(), "", nil)
	if err != nil {
		return nil, fmt.Errorf("who manages which fields of %s: %w", k.Kind, err)
	}
	return scope, nil
}
