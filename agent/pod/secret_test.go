package pod

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"flotilla/bus/member"
)

var _ member.Vault = (*Secret)(nil)

var secrets = corev1.SchemeGroupVersion.WithResource("secrets").GroupResource()

func TestASecretKeepsWhatIsPutIntoIt(t *testing.T) {
	clients := fake.NewClientset()
	s := newSecret(clients, "flotilla-system", "flotilla-agent")
	text, err := s.Read("identity.json")
	require.NoError(t, err)
	require.Nil(t, text)
	require.NoError(t, s.Remove("identity.json"))
	list, err := clients.CoreV1().Secrets("flotilla-system").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items, "nothing was to be kept")

	require.NoError(t, s.Write("identity.json", []byte("a")))
	require.NoError(t, s.Write("other", []byte("b")))
	require.NoError(t, s.Write("identity.json", []byte("c")))
	text, err = s.Read("identity.json")
	require.NoError(t, err)
	require.Equal(t, "c", string(text))
	require.NoError(t, s.Remove("identity.json"))
	found, err := clients.CoreV1().Secrets("flotilla-system").Get(t.Context(), "flotilla-agent", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"other": []byte("b")}, found.Data)
}

// Somebody else writes between reading and writing: what they wrote stays.
func TestASecretThatSomebodyElseWritesIsReadAnew(t *testing.T) {
	clients := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}, Data: map[string][]byte{"theirs": []byte("1")}})
	conflicts := 0
	clients.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts++; conflicts > 1 {
			return false, nil, nil
		}
		theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}, Data: map[string][]byte{"theirs": []byte("2")}}
		require.NoError(t, clients.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), theirs, "n"))
		return true, nil, apierrors.NewConflict(secrets, "s", nil)
	})
	require.NoError(t, newSecret(clients, "n", "s").Write("ours", []byte("3")))
	found, err := clients.CoreV1().Secrets("n").Get(t.Context(), "s", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"theirs": []byte("2"), "ours": []byte("3")}, found.Data)
}

func TestWhatASecretNeedsIsSaid(t *testing.T) {
	for _, verb := range []string{"get", "create"} {
		clients := fake.NewClientset()
		clients.PrependReactor(verb, "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(secrets, "s", nil)
		})
		err := newSecret(clients, "n", "s").Write("ours", nil)
		require.ErrorContains(t, err, "let the agent get and update that Secret, and make it, empty, or let the agent create Secrets", verb)
	}
}
