package offline

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func TestFaultsNameTheFileAndTheCommandThatMendsIt(t *testing.T) {
	documents := documentsIn(t, "b.yaml", "kind: ConfigMap\ndata: {}\n---\nkind: Secret\nmetadata: {name: key}\n")
	refused := func() *api.Failure {
		return &api.Failure{
			Code: api.CodeInvalid, Message: resource.NothingApplied + "2 faults",
			Faults: strict.Faults{
				{Object: "Secret/key", Path: "metadata.name"},
				{Object: "document 1", Document: 1, Path: "metadata.name"},
				{Object: "ConfigMap", Path: "data.x"},
				{Object: "Namespace/else", Path: "metadata"},
			},
		}
	}
	f := session.FailureOf(DescribeFaults(refused(), documents, &Source{Files: []string{"a.yaml", "b.yaml"}}, false))
	require.Equal(t, "refused: 2 faults", f.Message)
	require.Equal(t, "flotilla explain configmap.metadata.name", f.Next, "nothing that correct could put right")
	var where []string
	for _, fault := range f.Faults {
		where = append(where, fault.Where()+" "+fault.Object)
	}
	require.Equal(t, []string{" Namespace/else", "b.yaml:1:1 ConfigMap", "b.yaml:2:1 ConfigMap", "b.yaml:5:12 Secret/key"}, where)
	require.Equal(t, "flotilla apply --dry-run=server -f a.yaml -f b.yaml", f.All)

	f = session.FailureOf(DescribeFaults(refused(), documents, &Source{Files: []string{"-"}}, true))
	require.Equal(t, resource.NothingApplied+"2 faults", f.Message, "an apply says so")
	require.Equal(t, "flotilla explain configmap.metadata.name", f.Next, "standard input cannot be read again")

	f = session.FailureOf(resource.NotChanged(refused(), "flotilla describe member/berlin"))
	require.Equal(t, "nothing was changed: 2 faults", f.Message)
	require.Equal(t, "flotilla describe member/berlin", f.Next)
}

// TestCorrectIsOfferedWhereItCorrects offers the command only where it leaves nothing over.
func TestCorrectIsOfferedWhereItCorrects(t *testing.T) {
	next := func(text string) string {
		documents := documentsIn(t, "a.yaml", text)
		_, faults := validate.Decode(documents[0].Body)
		require.NotEmpty(t, faults)
		return session.FailureOf(DescribeFaults(&api.Failure{Code: api.CodeInvalid, Faults: faults}, documents, &Source{Files: []string{"a.yaml"}}, true)).Next
	}
	run := "apiVersion: flotilla.io/v1alpha1\nkind: UpdateRun\nmetadata: {name: r}\nspec: {upgrade: {type: Full, kubernetesVersion: %s}}\n"
	require.Equal(t, "flotilla correct -f a.yaml", next(fmt.Sprintf(run, "1.30")))
	require.Equal(t, "flotilla explain run.spec.upgrade.kubernetesVersion", next(fmt.Sprintf(run, "newest")))
}

func documentsIn(t *testing.T, file, text string) []Document {
	t.Helper()
	read, err := configs.Parse(file, []byte(text))
	require.NoError(t, err)
	var documents []Document
	for i := range read {
		documents = append(documents, Document{Ref: headOf(read[i].JSON), Body: read[i].JSON, File: read[i]})
	}
	return documents
}
