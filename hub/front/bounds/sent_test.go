package bounds

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// What was sent is counted without decoding it, in each form; what is text counts once.
func TestValuesAreCounted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Counts{
		`{"a":"{[,\"","b":{}}`:      {Values: 3},
		`{"a":[],"b":[1,[2,3],{}]}`: {Values: 9, Items: 6},
		`[1,2]`:                     {Values: 2, Items: 2},
		`7`:                         {},
	} {
		found, err := Count([]byte(text), podKind)
		require.NoError(t, err, text)
		require.Equal(t, want, found, text)
	}
	for what, text := range map[string]string{
		"values in a list":           "[1" + strings.Repeat(",1", MostValues) + "]",
		"maps":                       "[{}" + strings.Repeat(",{}", MostValues) + "]",
		"values before an end":       "[{}" + strings.Repeat(",{}", MostValues),
		"values in YAML behind text": `{a: '"', b: [` + strings.Repeat("{},", MostValues) + `], c: '"'}`,
		"items of YAML in one line":  strings.Repeat("- ", MostValues+1) + "a",
		"depth":                      strings.Repeat("[", mostDepth+1) + strings.Repeat("]", mostDepth+1),
	} {
		_, err := Count([]byte(text), podKind)
		require.Error(t, err, what)
	}
	_, err := Count([]byte(strings.Repeat("[", mostDepth)+strings.Repeat("]", mostDepth)), podKind)
	require.NoError(t, err)
	words := strings.Repeat("[{a, b}, - c: d]\n", 40_000)
	text, err := json.Marshal(map[string]string{"a": words})
	require.NoError(t, err)
	_, err = Count(text, podKind)
	require.NoError(t, err)
}

// packed is an object in protobuf.
func packed(t *testing.T, o runtime.Object) []byte {
	t.Helper()
	text, err := runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), o)
	require.NoError(t, err)
	return text
}

// Messages are counted however they nest, also before what cannot be read; texts are not taken for messages.
func TestFieldsOfMessagesAreCounted(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Spec: corev1.PodSpec{Containers: make([]corev1.Container, 90)}}
	text := packed(t, pod)
	found, err := Count(text, podKind)
	require.NoError(t, err)
	require.Greater(t, found.Values, 90)
	pod.Spec.Containers = make([]corev1.Container, MostValues+1)
	_, err = Count(packed(t, pod), podKind)
	require.Error(t, err)

	inner := "\x12\xc0\x9a\x0c" + strings.Repeat("\x12\x00", 100_000) // containers of a spec, where it names no kind
	for _, end := range []string{"", "\xff"} {
		raw, err := (&runtime.Unknown{Raw: []byte(inner + end)}).Marshal()
		require.NoError(t, err)
		_, err = Count(append([]byte("k8s\x00"), raw...), podKind)
		require.Error(t, err)
	}

	lines := strings.Repeat("listen 0.0.0.0:80; # {\"a\": [1, 2]}\n", 24<<10)
	text = packed(t, &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"a": lines, "b": strings.Repeat("\x12\x00", 90<<10)}})
	found, err = Count(text, podKind)
	require.NoError(t, err)
	require.Less(t, found.Values, 20)
}
