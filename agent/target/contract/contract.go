// Package contract says what every target must do, as tests: a member in memory runs them in its own, a real cluster in
// tests/e2e. What holds here of one holds of the other, so that what is shown in memory is true of clusters.
//
// Cases get a Fixture of their own, with namespaces of their own where targets are shared.
package contract

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// Fixture is a target with what stands beside it, for one case.
type Fixture interface {
	// Target is the one under test.
	Target() target.Target
	// Restart returns a target beside the same member that knows nothing but what the member remembers.
	Restart() target.Target
	// Namespace makes one by another hand, with a name of its own.
	Namespace() string
	// Make makes an object, Edit changes one, Remove deletes one, by other hands than the agent's: those of Maker
	// and Editor.
	Make(object *unstructured.Unstructured)
	Edit(ref api.ObjectRef, change func(*unstructured.Unstructured))
	Remove(ref api.ObjectRef)
}

// Maker and Editor are the field managers of the other hands.
const (
	Maker  = "kubectl-create"
	Editor = "kubectl-edit"
)

// suite is one case under way.
type suite struct {
	*testing.T
	Fixture
	ns    string
	owner apply.Owner
}

// Objects runs the cases about objects. Begin makes the fixture of a case and skips none; cases run at once when
// parallel says so.
func Objects(t *testing.T, parallel bool, begin func(t *testing.T) Fixture) {
	t.Helper()
	for _, cases := range []map[string]func(*suite){writeCases, driftCases, removalCases, restartCases} {
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				if parallel {
					t.Parallel()
				}
				f := begin(t)
				ns := f.Namespace()
				run(&suite{T: t, Fixture: f, ns: ns, owner: apply.Owner{Placement: ns, UID: "uid-" + ns}})
			})
		}
	}
}

// parse reads an object of YAML; what it says of NS is the case's namespace.
func (s *suite) parse(text string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(s, err)
	require.NoError(s, object.UnmarshalJSON(body)) // whole numbers stay whole
	if object.GetNamespace() == "NS" {
		object.SetNamespace(s.ns)
	}
	return object
}

// config is a ConfigMap of the case's namespace.
func (s *suite) config(name string, data map[string]any) *unstructured.Unstructured {
	object := s.parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: NS}}")
	object.Object["data"] = data
	return object
}

// write is what the agent writes of an object, with a digest.
func (s *suite) write(object *unstructured.Unstructured, digest string) target.Write {
	m := apply.Manifest{Manifest: api.Manifest{ObjectRef: apply.RefOf(object), Digest: digest}, Object: object}
	return target.Write{Object: apply.Stamped(&m, s.owner), Origin: target.Origin{Owner: s.owner.String()}}
}

// over is a write that replaces a live object.
func over(w target.Write, live *unstructured.Unstructured) target.Write {
	w.UID = string(live.GetUID())
	return w
}

// applied writes an object, and has it in the inventory.
func (s *suite) applied(object *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	s.intend(apply.RefOf(object))
	live, err := s.Target().Apply(s.Context(), s.write(object, "d1"))
	require.NoError(s, err)
	return live
}

func (s *suite) intend(refs ...api.ObjectRef) {
	s.Helper()
	require.NoError(s, s.Target().Intend(s.Context(), s.owner.String(), refs))
}

func (s *suite) get(ref api.ObjectRef) *unstructured.Unstructured {
	s.Helper()
	live, err := s.Target().Get(s.Context(), ref)
	require.NoError(s, err)
	return live
}

// gone is an error until there is no such object.
func (s *suite) gone(ref api.ObjectRef) error {
	live, err := s.Target().Get(s.Context(), ref)
	switch {
	case err == nil:
		return fmt.Errorf("%s is still there: %v", ref, live.Object["metadata"])
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// until waits for a condition.
func (s *suite) until(condition func() error) {
	s.Helper()
	until(s.T, condition)
}

// field reads a field of an object.
func field(object *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	return value
}
