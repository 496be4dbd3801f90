//go:build e2e

package e2e

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flotilla/tests/e2e/lab"
	"flotilla/tests/rig"
)

// system is the namespace of agents.
const system = "flotilla-system"

// pod runs the container of a Deployment as a process, as a kubelet would: with the arguments and files that the cluster
// has, the token of its service account and therefore its permissions, and volumes that go with it.
type pod struct {
	*fleet
	cluster *lab.Cluster
	folder  string
	process *rig.Process
}

// newPod starts the agent that the cluster's Deployment flotilla-agent describes.
func (f *fleet) newPod(c *lab.Cluster) *pod {
	f.Helper()
	p := &pod{fleet: f, cluster: c, folder: f.TempDir()}
	server, err := url.Parse(c.Server())
	require.NoError(f, err)
	host, port, err := net.SplitHostPort(server.Host)
	require.NoError(f, err)
	p.mount()
	deployment, err := c.Clients().AppsV1().Deployments(system).Get(f.Context(), "flotilla-agent", metav1.GetOptions{})
	require.NoError(f, err)
	env := []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
	p.process = rig.Start(f, append(env, hasty...), f.program("agent"), p.args(deployment)...)
	return p
}

// args are those of the container, with its volumes where they are.
func (p *pod) args(d *appsv1.Deployment) []string {
	var args []string
	container := d.Spec.Template.Spec.Containers[0]
	for _, arg := range container.Args {
		arg = strings.Replace(arg, "0.0.0.0:9091", "127.0.0.1:0", 1) // of a pod there is one address each
		for _, m := range container.VolumeMounts {
			arg = strings.Replace(arg, m.MountPath, filepath.Join(p.folder, m.Name), 1)
		}
		args = append(args, arg)
	}
	return args
}

// mount writes what the volumes of the pod hold, and its service account.
func (p *pod) mount() {
	p.Helper()
	core := p.cluster.Clients().CoreV1()
	account, err := core.ServiceAccounts(system).CreateToken(p.Context(), "flotilla-agent", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(p, err)
	p.write("account", "token", []byte(account.Status.Token))
	p.write("account", "ca.crt", p.cluster.Config().CAData)
	p.write("account", "namespace", []byte(system))
	config, err := core.ConfigMaps(system).Get(p.Context(), "flotilla-agent", metav1.GetOptions{})
	require.NoError(p, err)
	settings := map[string]any{}
	require.NoError(p, yaml.Unmarshal([]byte(config.Data["agent.yaml"]), &settings))
	// With a provider the agent reads all that decisions about nodes need; there are no machines behind its nodes.
	settings["nodes"] = map[string]any{
		"provider": "exec", "interval": "200ms", "leastDrain": "1s", "exec": map[string]any{"launch": []string{"false"}, "delete": []string{"true"}},
	}
	settings["heartbeatInterval"] = "1s" // nobody waits for what they tell
	settings["pod"] = map[string]any{"serviceAccount": filepath.Join(p.folder, "account")}
	text, err := yaml.Marshal(settings)
	require.NoError(p, err)
	p.write("config", "agent.yaml", text)
	if token, err := core.Secrets(system).Get(p.Context(), "flotilla-agent-token", metav1.GetOptions{}); err == nil {
		p.write("token", "token", token.Data["token"])
	}
	p.write("data", ".keep", nil)
}

func (p *pod) write(volume, name string, text []byte) {
	p.Helper()
	require.NoError(p, os.MkdirAll(filepath.Join(p.folder, volume), 0o700))
	require.NoError(p, os.WriteFile(filepath.Join(p.folder, volume, name), text, 0o600))
}

// vanish ends the pod at once, and its volumes with it.
func (p *pod) vanish() {
	p.Helper()
	p.process.Kill()
	require.NoError(p, os.RemoveAll(p.folder))
}
