package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientauth "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/hubd"
)

// withKubernetes is the environment of an admin of a hub with a Kubernetes API.
func withKubernetes(t *testing.T) session.Environment {
	t.Helper()
	env := liveEnvironment(startFleet(t, func(o *hubd.Options) {
		o.Front.Address = "127.0.0.1:0"
		o.Front.New = func(hubd.FrontOptions) (http.Handler, error) { return http.NotFoundHandler(), nil }
	}))
	env.Cache, env.Parent = t.TempDir(), 1
	return env
}

// printed is what a command prints.
func printed(t *testing.T, env session.Environment, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	env.Out, env.Err = &out, &problems
	require.Zero(t, cli.Main(t.Context(), args, env), problems.String())
	return out.String()
}

// credential is the token that kubectl is given.
func credential(t *testing.T, env session.Environment) string {
	t.Helper()
	var given clientauth.ExecCredential
	require.NoError(t, json.Unmarshal([]byte(printed(t, env, "token", "--output", "exec")), &given))
	require.Equal(t, clientauth.SchemeGroupVersion.String(), given.APIVersion)
	require.WithinDuration(t, env.Now().Add(api.APITokenLife), given.Status.ExpirationTimestamp.Time, time.Minute)
	return given.Status.Token
}

// Programs that ask one after the other get one token; the one that asks again, since it was refused, gets another.
func TestTokensAreKeptForTheNextWhoAsks(t *testing.T) {
	env := withKubernetes(t)
	first := credential(t, env)
	files, err := filepath.Glob(filepath.Join(env.Cache, "tokens", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	env.Parent = 2
	require.Equal(t, first, credential(t, env))
	second := credential(t, env)
	require.NotEqual(t, first, second, "the second time of one process")
	env.Parent = 3
	require.Equal(t, second, credential(t, env))

	env.Parent = 4
	late := env
	late.Now = func() time.Time { return env.Now().Add(api.APITokenLife) }
	var out, problems bytes.Buffer
	late.Out, late.Err = &out, &problems
	require.Zero(t, cli.Main(t.Context(), []string{"token", "-o", "exec"}, late), problems.String())
	require.NotContains(t, out.String(), second, "it ends soon")

	env.Parent = 5
	none := env
	none.Cache = ""
	unkept := credential(t, none)
	require.NotEqual(t, unkept, credential(t, none), "without a folder nothing is kept")
	other := filepath.Join(t.TempDir(), "other.creds")
	require.NoError(t, os.WriteFile(other, []byte(printed(t, env, "user", "add", "vera", "--role", "viewer")), 0o600))
	before := credential(t, env)
	vera := env
	vera.Parent = 6
	vera.Getenv = func(name string) string {
		if name == "NATS_CREDS" {
			return other
		}
		return env.Getenv(name)
	}
	require.NotEqual(t, before, credential(t, vera), "another person gets another")
}

// readAs is a kubeconfig that a program prints, as kubectl reads it.
func readAs(t *testing.T, env session.Environment, program string, args ...string) *rest.Config {
	t.Helper()
	env.Program = func() (string, error) { return program, nil }
	config, err := clientcmd.Load([]byte(printed(t, env, append([]string{"kubeconfig"}, args...)...)))
	require.NoError(t, err)
	require.NoError(t, clientcmd.Validate(*config))
	client, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	require.NoError(t, err)
	require.Regexp(t, `^https://127\.0\.0\.1:\d+$`, client.Host)
	require.Contains(t, string(client.CAData), "BEGIN CERTIFICATE")
	return client
}

// A kubeconfig has what prints tokens talk to the same hub from anywhere; a program that goes away is not named.
func TestAKubeconfigIsRead(t *testing.T) {
	env := withKubernetes(t)
	creds, err := os.ReadFile(env.Getenv("NATS_CREDS"))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mine.creds", creds, 0o600))
	here, err := filepath.Abs("mine.creds")
	require.NoError(t, err)

	client := readAs(t, env, "/opt/flotilla", "--creds", "mine.creds")
	require.Empty(t, client.BearerToken)
	require.Equal(t, []string{"token", "--output", "exec"}, client.ExecProvider.Args)
	require.Equal(t, "/opt/flotilla", client.ExecProvider.Command)
	require.Equal(t, []clientcmdapi.ExecEnvVar{
		{Name: "NATS_URL", Value: env.Getenv("NATS_URL")},
		{Name: "NATS_CREDS", Value: here},
		{Name: "NATS_CONTEXT"},
		{Name: "NATS_CA"},
		{Name: "FLOTILLA_FLEET", Value: "default"},
	}, client.ExecProvider.Env)
	for program, args := range map[string][]string{
		"/opt/flotilla": {"--static"}, "/tmp/go-build790/b001/exe/flotilla": nil, "/root/.cache/go-build/b8/b86-d/flotilla": nil,
	} {
		client := readAs(t, env, program, args...)
		require.Nil(t, client.ExecProvider, program)
		require.Regexp(t, `^flotilla_[\w-]{43}$`, client.BearerToken, program)
	}
}
