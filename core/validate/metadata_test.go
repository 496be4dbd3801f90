package validate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// carrying is a document of a kind with labels and annotations.
func carrying(t *testing.T, apiVersion, kind string, labels, annotations map[string]string) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "a", "labels": labels, "annotations": annotations}})
	require.NoError(t, err)
	return raw
}

func many(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprint("l", i)] = "1"
	}
	return out
}

func TestLabelsAndAnnotationsOfAnObjectAreBoundedTogether(t *testing.T) {
	long := func(n int) map[string]string { return map[string]string{"note": strings.Repeat("x", n-len("note"))} }
	one := map[string]string{"a": "b"}
	for name, c := range map[string]struct {
		labels, annotations map[string]string
		want                []string
	}{
		"all that is allowed":  {one, long(256<<10 - 2), nil},
		"a byte more":          {one, long(256<<10 - 1), []string{"metadata.annotations: found labels and annotations of 262145 bytes, 262143 of them here, expected at most 262144 bytes, labels and annotations together"}},
		"as many as there may": {many(1999), one, nil},
		"one more":             {many(2000), one, []string{"metadata.labels: found 2001 labels and annotations, 2000 of them here, expected at most 2000, labels and annotations together"}},
		"both, and other faults": {map[string]string{"": "x"}, func() map[string]string { m := many(2001); m["note"] = strings.Repeat("x", 256<<10); return m }(), []string{
			"metadata.annotations: found labels and annotations of 273045 bytes, 273044 of them here, expected at most 262144 bytes, labels and annotations together",
			"metadata.annotations: found 2003 labels and annotations, 2002 of them here, expected at most 2000, labels and annotations together",
			`metadata.labels[""]: found nothing, expected a name, optionally with a DNS prefix and a slash before it`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := Decode(carrying(t, "v1", "ConfigMap", c.labels, c.annotations))
			got := []string{}
			for _, f := range faults {
				got = append(got, f.Path+": found "+f.Found+", expected "+f.Expected)
			}
			require.ElementsMatch(t, c.want, got)
		})
	}
}

// It is so of every kind, and of what lies in an envelope.
func TestMetadataOfEveryKindIsBounded(t *testing.T) {
	annotations := map[string]string{"note": strings.Repeat("x", 256<<10)}
	about := func(raw []byte, path string) {
		t.Helper()
		_, faults := Decode(raw)
		for _, f := range faults {
			if f.Path == path && strings.Contains(f.Expected, "at most 262144 bytes") {
				return
			}
		}
		t.Errorf("not refused: %s", faults)
	}
	for kind, k := range kinds() {
		about(carrying(t, k.Versions()[0], kind, nil, annotations), "metadata.annotations")
	}
	held := carrying(t, "rbac.authorization.k8s.io/v1", "ClusterRole", nil, annotations)
	about(fmt.Appendf(nil, `{"apiVersion":"placement.kubernetes-fleet.io/v1beta1","kind":"ClusterResourceEnvelope","metadata":{"name":"e"},"data":{"role":%s}}`, held), "data.role.metadata.annotations")
}
