//go:build kubectl

package kubectl_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/front"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// roles are the contexts of a kubeconfig: people of each role.
var roles = []api.Role{api.RoleAdmin, api.RoleOperator, api.RoleViewer}

// fleet is how people of each role reach the Kubernetes API of a hub.
type fleet map[api.Role]api.TokenResponse

// startFleet starts the eight members of the examples and their hub.
func startFleet(t *testing.T) fleet {
	t.Helper()
	members, err := dev.ExampleMembers()
	require.NoError(t, err)
	var door hubd.FrontDoor
	o := hubd.Options{Server: &server.Options{Dir: t.TempDir(), Port: -1}, Log: zerolog.Nop(), Now: elsewhen.Now}
	o.Front.Address = "127.0.0.1:0"
	o.Front.New = func(made hubd.FrontOptions) (http.Handler, error) {
		door = made.Door
		return front.New(front.Options{Door: made.Door, Version: "dev", Now: made.Now, Log: made.Log})
	}
	d, err := dev.Start(t.Context(), dev.Options{Hub: o, Members: members, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Stop()) })
	require.NoError(t, d.AdmitExamples(t.Context()))
	f := fleet{}
	for _, role := range roles {
		f[role] = token(t, door, role)
	}
	return f
}

// token lets a person of a role in, as "ada-<role>".
func token(t *testing.T, door hubd.FrontDoor, role api.Role) (given api.TokenResponse) {
	t.Helper()
	by := api.Caller{Name: "ada-" + string(role), Role: role}
	require.NoError(t, door.Ask(bustest.Context(t), by, api.VerbToken, api.TokenRequest{}, &given))
	return given
}

// kubeconfig writes how kubectl reaches the fleet: a context for each role, and as admin where none is named.
func (f fleet) kubeconfig(t *testing.T, path, namespace string) {
	t.Helper()
	c := clientcmdapi.NewConfig()
	for role, given := range f {
		name := string(role)
		c.Clusters[name] = &clientcmdapi.Cluster{Server: given.Server, CertificateAuthorityData: given.CA}
		c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: given.Token}
		c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	}
	c.CurrentContext = string(api.RoleAdmin)
	text, err := clientcmd.Write(*c)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
}
