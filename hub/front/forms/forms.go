// Package forms reads and writes unstructured objects in forms that only types of client-go have.
package forms

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"flotilla/core/strict"
)

// byType reads and writes unstructured objects of kinds of Kubernetes in a form that only types have.
type byType struct{ typed runtime.Serializer }

// Protobuf is the media type of programs that are compiled with the types of client-go.
func Protobuf() runtime.SerializerInfo {
	whole := byType{protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)}
	return runtime.SerializerInfo{
		MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf", Serializer: whole, StrictSerializer: whole,
		StreamSerializer: &runtime.StreamSerializerInfo{Serializer: byType{protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)}, Framer: protobuf.LengthDelimitedFramer},
	}
}

// Decode reads an object and makes it unstructured. What was sent was counted before, and the bounds of its amounts were looked at.
func (b byType) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	read, gvk, err := b.typed.Decode(data, defaults, nil)
	if err != nil {
		return nil, gvk, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(read)
	if err != nil {
		return nil, gvk, err
	}
	u, is := into.(*unstructured.Unstructured)
	if !is {
		u = &unstructured.Unstructured{}
	}
	u.Object = content
	u.SetGroupVersionKind(*gvk)
	return u, gvk, nil
}

// Encode writes an unstructured object as its type, and of a list one object after the other: of a type fields take memory that nobody set.
func (b byType) Encode(o runtime.Object, w io.Writer) error {
	switch u := o.(type) {
	case *unstructured.UnstructuredList:
		return list(u, w)
	case runtime.Unstructured:
		text, err := b.one(u)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	return b.typed.Encode(o, w)
}

// one is the text of an object.
func (b byType) one(u runtime.Unstructured) ([]byte, error) {
	defer inTurn(u.UnstructuredContent())()
	made, err := typed(u.UnstructuredContent(), u.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return runtime.Encode(b.typed, made)
}

// typed is an object as its type.
func typed(content map[string]any, kind schema.GroupVersionKind) (runtime.Object, error) {
	made, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("%w: it has no form in protobuf", err)
	}
	if err := strict.FromUnstructured(content, made); err != nil {
		return nil, err
	}
	made.GetObjectKind().SetGroupVersionKind(kind)
	return made, nil
}

// Identifier names the serializer.
func (b byType) Identifier() runtime.Identifier { return "flotilla " + b.typed.Identifier() }
