package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/agent/target/contract"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// beside is a member in memory for one case of the contract.
type beside struct {
	*testing.T
	member *Member
	folder string
}

func (b *beside) options() Options {
	node, err := target.NewNode("n1", "8", "32Gi")
	require.NoError(b, err)
	return Options{Name: "berlin", Clock: Running(elsewhen.Now), Nodes: []target.Node{node}}
}

func (b *beside) Target() target.Target { return b.member }

func (b *beside) Restart() target.Target {
	b.member.Close()
	again, err := Open(b.options(), b.folder)
	require.NoError(b, err)
	b.Cleanup(again.Close)
	b.member = again // other hands are there too
	return again
}

func (b *beside) Namespace() string {
	b.member.Plant(namespace("case"))
	return "case"
}

func (b *beside) Make(object *unstructured.Unstructured) { b.member.Plant(object) }

func (b *beside) Edit(ref api.ObjectRef, change func(*unstructured.Unstructured)) {
	require.True(b, b.member.Edit(ref, change))
}

func (b *beside) Remove(ref api.ObjectRef) { require.True(b, b.member.Remove(ref)) }

func TestContract(t *testing.T) {
	contract.Objects(t, false, func(t *testing.T) contract.Fixture {
		t.Helper()
		b := &beside{T: t, folder: t.TempDir()}
		var err error
		b.member, err = Open(b.options(), b.folder)
		require.NoError(t, err)
		t.Cleanup(b.member.Close)
		return b
	})
}
