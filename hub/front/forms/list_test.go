package forms

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// sets are StatefulSets.
func sets(names ...string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSetList", "metadata": map[string]any{"resourceVersion": "7", "continue": "on"},
	}}
	for _, name := range names {
		list.Items = append(list.Items, unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"serviceName": strings.Repeat("x", 300), "volumeClaimTemplates": []any{map[string]any{}, map[string]any{}}},
		}})
	}
	return list
}

// A list is written in protobuf object by object, and reads as if it had been written at once. Its first piece is short: what compresses answers waits
// for more then (H49).
func TestAListInProtobufIsWrittenObjectByObject(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{}, {"a"}, {"a", "b", "c"}} {
		var text pieces
		require.NoError(t, Protobuf().Serializer.Encode(sets(names...), &text))
		require.Equal(t, "k8s\x00", string(text.first))
		read, err := runtime.Decode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), text.Bytes())
		require.NoError(t, err)
		whole := &appsv1.StatefulSetList{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(sets(names...).UnstructuredContent(), whole))
		for i := range whole.Items {
			whole.Items[i].Kind, whole.Items[i].APIVersion = "", "" // as protobuf does
		}
		if len(names) == 0 {
			whole.Items = nil
		}
		require.Equal(t, whole, read)
	}
	require.ErrorContains(t, Protobuf().Serializer.Encode(&unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Nothing"}}, &pieces{}), "no form in protobuf")
}

// pieces keeps which piece was first.
type pieces struct {
	bytes.Buffer
	first []byte
}

func (p *pieces) Write(text []byte) (int, error) {
	if p.first == nil {
		p.first = bytes.Clone(text)
	}
	return p.Buffer.Write(text)
}

// slow takes the first piece of an answer once it is told to.
type slow struct{ began, on chan bool }

func (s slow) Write(text []byte) (int, error) {
	s.began <- true
	<-s.on
	return len(text), nil
}

// Large objects become types one at a time, and are sent after that: who takes one slowly holds up nobody (H49).
func TestALargeObjectIsSentAfterItsTurn(t *testing.T) {
	t.Parallel()
	ports := make([]any, manyMaps)
	for i := range ports {
		ports[i] = map[string]any{}
	}
	large := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"ports": ports}}}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceList"}, Items: []unstructured.Unstructured{*large}}
	for _, o := range []runtime.Object{large, list} {
		to := slow{make(chan bool), make(chan bool)}
		done := make(chan error)
		go func() { done <- Protobuf().Serializer.Encode(o, to) }()
		<-to.began
		var text bytes.Buffer
		require.NoError(t, Protobuf().Serializer.Encode(large, &text))
		close(to.on)
		for ended := false; !ended; {
			select {
			case <-to.began:
			case err := <-done:
				require.NoError(t, err)
				ended = true
			}
		}
		read, err := runtime.Decode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), text.Bytes())
		require.NoError(t, err)
		require.Len(t, read.(*corev1.Service).Spec.Ports, manyMaps)
	}
	require.True(t, waits(t, large))
}

// waits says that an object waits for its turn.
func waits(t *testing.T, u *unstructured.Unstructured) bool {
	t.Helper()
	done := inTurn(u.Object)
	free := large.TryLock()
	if free {
		large.Unlock()
	}
	done()
	return !free
}
