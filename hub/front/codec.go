package front

import (
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"flotilla/hub/front/forms"
	"flotilla/hub/front/selected"
)

// metaScheme knows what is no object of a fleet: statuses, options, lists of resources.
var (
	metaVersion = schema.GroupVersion{Version: "v1"}
	metaScheme  = newMetaScheme()
	metaCodecs  = serializer.NewCodecFactory(metaScheme)
)

func newMetaScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, metaVersion)
	s.AddUnversionedTypes(metaVersion, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return s
}

// anyCreator makes unstructured objects.
type anyCreator struct{}

// New makes an empty object.
func (anyCreator) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// anyTyper tells kinds of unstructured objects, and of others by metaScheme.
type anyTyper struct{ runtime.ObjectTyper }

// ObjectKinds are the kinds of an object.
func (t anyTyper) ObjectKinds(o runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if _, is := o.(runtime.Unstructured); is {
		return t.ObjectTyper.ObjectKinds(o)
	}
	return metaScheme.ObjectKinds(o)
}

// Recognizes says that any kind may be read.
func (anyTyper) Recognizes(schema.GroupVersionKind) bool { return true }

func newTyper() anyTyper { return anyTyper{unstructuredscheme.NewUnstructuredObjectTyper()} }

// asIs is the convertor of objects that exist in one version alone.
type asIs struct{ kind schema.GroupVersionKind }

// Convert copies nothing: there is one version.
func (asIs) Convert(_, _, _ any) error { return fmt.Errorf("objects have one version here") }

// ConvertToVersion returns the object.
func (asIs) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// ConvertFieldLabel lets the fields through that storage selects by.
func (c asIs) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	known := append([]string{"metadata.name", "metadata.namespace"}, selected.Fields[c.kind.Kind]...)
	if slices.Contains(known, label) {
		return label, value, nil
	}
	return "", "", fmt.Errorf("found field selector %q, expected %s", label, strings.Join(known, " or "))
}

// patchable is the convertor of strategic merge patches: an empty object becomes typed, as its fields say how they merge.
type patchable struct{ asIs }

// ConvertToVersion returns the object, an empty one typed.
func (c patchable) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	if u, is := in.(*unstructured.Unstructured); is && u.GetName() == "" {
		if made := typed(c.kind); made != nil {
			return made, nil
		}
	}
	return in, nil
}

// noDefaults fills in nothing: the door does.
type noDefaults struct{}

// Default does nothing.
func (noDefaults) Default(runtime.Object) {}

// codec reads and writes unstructured objects in JSON and YAML.
type codec struct {
	media []runtime.SerializerInfo
	kind  *kind
}

func newCodec() codec {
	creator, typer := anyCreator{}, newTyper()
	with := func(o json.SerializerOptions) runtime.Serializer {
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, creator, typer, o)
	}
	return codec{media: []runtime.SerializerInfo{
		{
			MediaType: "application/json", MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
			Serializer: with(json.SerializerOptions{StreamingCollectionsEncoding: true}), PrettySerializer: with(json.SerializerOptions{Pretty: true}), StrictSerializer: with(json.SerializerOptions{Strict: true}),
			StreamSerializer: &runtime.StreamSerializerInfo{EncodesAsText: true, Serializer: with(json.SerializerOptions{}), Framer: json.Framer},
		},
		{
			MediaType: "application/yaml", MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
			Serializer: with(json.SerializerOptions{Yaml: true}), StrictSerializer: with(json.SerializerOptions{Yaml: true, Strict: true}),
		},
	}}
}

// of is the codec for a kind: those of Kubernetes are read and written in protobuf too.
func (c codec) of(k *kind) codec {
	if typed(k.GroupVersionKind) == nil {
		return codec{c.media, k}
	}
	return codec{append(slices.Clone(c.media), forms.Protobuf()), k}
}

// SupportedMediaTypes are JSON and YAML, and of kinds with types protobuf.
func (c codec) SupportedMediaTypes() []runtime.SerializerInfo { return c.media }

// EncoderForVersion encodes what is no object of a fleet by metaScheme.
func (c codec) EncoderForVersion(encoder runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return versionless{encoder, metaCodecs.EncoderForVersion(encoder, metaVersion)}
}

// DecoderToVersion decodes an object, and finds fields that its kind has not where it is to be strict.
func (c codec) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	s, is := decoder.(*json.Serializer)
	return fieldChecker{decoder, c.kind, is && s.IsStrict()}
}

// versionless encodes unstructured objects as they are.
type versionless struct{ plain, meta runtime.Encoder }

// Encode writes an object.
func (v versionless) Encode(o runtime.Object, w io.Writer) error {
	if _, is := o.(runtime.Unstructured); is {
		return v.plain.Encode(o, w)
	}
	return v.meta.Encode(o, w)
}

// Identifier names the encoder.
func (v versionless) Identifier() runtime.Identifier { return v.plain.Identifier() }

type fieldChecker struct {
	runtime.Decoder
	kind   *kind
	strict bool
}

// Decode reads an object; fields that its kind has not are a strict decoding error beside it.
func (d fieldChecker) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	read, gvk, err := d.Decoder.Decode(data, defaults, into)
	u, is := read.(*unstructured.Unstructured)
	if !is || err != nil && !runtime.IsStrictDecodingError(err) || u.GroupVersionKind() != d.kind.GroupVersionKind {
		return read, gvk, err
	}
	var faults []error
	for _, found := range []error{err, d.kind.tidy(u, d.strict)} {
		if strict, is := runtime.AsStrictDecodingError(found); is {
			faults = append(faults, strict.Errors()...)
		} else if found != nil {
			return read, gvk, found
		}
	}
	if len(faults) > 0 {
		return read, gvk, runtime.NewStrictDecodingError(faults)
	}
	return read, gvk, nil
}
