package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/agent/target/contract"
	"flotilla/core/apply"
	"flotilla/tests/elsewhen"
)

// nodesInMemory is a member for a case about nodes.
type nodesInMemory struct {
	t *testing.T
	m *Member
}

func (f *nodesInMemory) Target() contract.NodeTarget { return f.m }

func (f *nodesInMemory) Namespace() string {
	f.m.Plant(object(f.t, "{apiVersion: v1, kind: Namespace, metadata: {name: case}}"))
	return "case"
}

func (f *nodesInMemory) AddNode(name string) {
	n, err := target.NewNode(name, "4", "16Gi")
	require.NoError(f.t, err)
	f.m.AddNode(n)
}

func (f *nodesInMemory) Plant(object *unstructured.Unstructured)  { f.m.Plant(object) }
func (f *nodesInMemory) Uproot(object *unstructured.Unstructured) { f.m.Remove(apply.RefOf(object)) }

func TestNodesHoldTheContract(t *testing.T) {
	contract.Nodes(t, func(t *testing.T) contract.NodeFixture {
		m := New(Options{Name: "berlin", Clock: Running(elsewhen.Now)})
		t.Cleanup(m.Close)
		return &nodesInMemory{t, m}
	})
}
