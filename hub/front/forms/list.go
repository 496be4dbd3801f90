package forms

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// What objects in protobuf begin with, and the fields of what follows: the one of a message in its envelope, and the one of the objects in each list of
// Kubernetes.
var (
	begin        = []byte("k8s\x00")
	raw          = byte(2<<3 | 2)
	objectInList = byte(2<<3 | 2)
)

// manyMaps is how many maps an object has that becomes a type while no other does: each map takes up to a kilobyte then.
const manyMaps = 4 << 10

// large is who has a large object become a type.
var large sync.Mutex

// inTurn waits until an object may become a type, if it is large. It is encoded before done is called, and sent after that.
func inTurn(content map[string]any) (done func()) {
	if maps(content) < manyMaps {
		return func() {}
	}
	large.Lock()
	return large.Unlock
}

// maps is how many maps a value has, and is.
func maps(value any) (sum int) {
	switch v := value.(type) {
	case map[string]any:
		sum = 1
		for _, inner := range v {
			sum += maps(inner)
		}
	case []any:
		for _, inner := range v {
			sum += maps(inner)
		}
	}
	return sum
}

// list writes a list. Its objects become types one at a time.
func list(u *unstructured.UnstructuredList, w io.Writer) error {
	kind := u.GroupVersionKind()
	empty, err := message(map[string]any{"metadata": u.Object["metadata"]}, u)
	if err != nil {
		return err
	}
	parts, size := [][]byte{empty}, len(empty)
	for i := range u.Items {
		one, err := message(u.Items[i].Object, &u.Items[i])
		if err != nil {
			return err
		}
		head := binary.AppendUvarint([]byte{objectInList}, uint64(len(one)))
		parts, size = append(parts, head, one), size+len(head)+len(one)
	}
	version, name := kind.ToAPIVersionAndKind()
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: name}}).Marshal()
	if err != nil {
		return err
	}
	parts = append([][]byte{begin, binary.AppendUvarint(append(envelope, raw), uint64(size))}, parts...)
	for i, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
		parts[i] = nil
	}
	return nil
}

// message is an object, or a list without its objects, in protobuf.
func message(content map[string]any, of runtime.Object) ([]byte, error) {
	defer inTurn(content)()
	made, err := typed(content, of.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, err
	}
	m, is := made.(interface{ Marshal() ([]byte, error) })
	if !is {
		return nil, fmt.Errorf("%T has no form in protobuf", made)
	}
	return m.Marshal()
}
