package front

import (
	"bytes"
	"encoding/binary"
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

// protobufInfo is the media type of programs that are compiled with the types of client-go.
func protobufInfo() runtime.SerializerInfo {
	whole := byType{protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)}
	return runtime.SerializerInfo{
		MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf", Serializer: whole, StrictSerializer: whole,
		StreamSerializer: &runtime.StreamSerializerInfo{Serializer: byType{protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)}, Framer: protobuf.LengthDelimitedFramer},
	}
}

// Decode reads an object and makes it unstructured.
func (b byType) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if hugeAmount(data) {
		return nil, defaults, fmt.Errorf("found an amount with an exponent of more than %d digits, expected one within the bounds of amounts", mostExponent)
	}
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

// mostExponent is how many digits the exponent of an amount has at most: reading a longer one takes all memory there is.
const mostExponent = 3

// hugeAmount says that a message in protobuf has an amount with a longer exponent. Amounts are messages whose first field is their
// text.
func hugeAmount(data []byte) bool {
	const field = 1<<3 | 2
	for i := range data {
		tag, n := binary.Uvarint(data[i:])
		if n <= 0 || tag != field {
			continue
		}
		length, m := binary.Uvarint(data[i+n:])
		rest := data[min(len(data), i+n+max(m, 0)):]
		if m > 0 && length <= uint64(len(rest)) && longExponent(rest[:length]) {
			return true
		}
	}
	return false
}

// longExponent says that a text is a number with an exponent of too many digits.
func longExponent(text []byte) bool {
	at := bytes.LastIndexAny(text, "eE")
	if at < 0 || len(bytes.TrimLeft(text[at+1:], "+-0")) <= mostExponent {
		return false
	}
	return len(bytes.Trim(text, "+-.0123456789eE")) == 0
}

// Encode writes an unstructured object, or a list of some, as its type.
func (b byType) Encode(o runtime.Object, w io.Writer) error {
	u, is := o.(runtime.Unstructured)
	if !is {
		return b.typed.Encode(o, w)
	}
	made, err := scheme.Scheme.New(o.GetObjectKind().GroupVersionKind())
	if err != nil {
		return fmt.Errorf("%w: it has no form in protobuf", err)
	}
	if err := strict.FromUnstructured(u.UnstructuredContent(), made); err != nil {
		return err
	}
	made.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	return b.typed.Encode(made, w)
}

// Identifier names the serializer.
func (b byType) Identifier() runtime.Identifier { return "flotilla " + b.typed.Identifier() }
