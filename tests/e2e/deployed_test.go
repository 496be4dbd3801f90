//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/configs/kubernetes"
	"flotilla/tests/e2e/lab"
)

// agentUser is who the agent of a manifest is to the API server.
const agentUser = "system:serviceaccount:" + system + ":flotilla-agent"

// kubectl types a command as the cluster's admin.
func kubectl(t testing.TB, c *lab.Cluster, words ...string) {
	t.Helper()
	admin, err := c.Admin()
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), programs.Kubectl(), append([]string{"--kubeconfig", admin}, words...)...).CombinedOutput()
	require.NoError(t, err, "$ kubectl %s\n%s", strings.Join(words, " "), out)
}

// A cluster becomes a member by the one file that is applied to it, with the permissions of that file alone: things are
// placed, put right and removed, and a node is emptied and deleted. An agent whose pod and volumes are gone returns
// without a token. When the member has left and the file is deleted, the cluster is what it was.
func TestAManifestMakesAMemberThatLeavesWithoutATrace(t *testing.T) {
	t.Parallel()
	c := clusterOf(t, "m1")
	withoutSystem(t, c)
	before := imprint(t, c)
	f := newFleet(t)
	manifest := f.path("m1.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte(f.run("member", "manifest", "m1", "--agent-url", f.url(), "--toleration", "dedicated:NoSchedule")), 0o600))
	kubectl(t, c, "apply", "-f", manifest)
	t.Cleanup(func() {
		_ = c.Clients().CoreV1().Namespaces().Delete(context.Background(), system, metav1.DeleteOptions{})
	})
	eventually(t, func(ctx context.Context) error { return placesAreFilledIn(ctx, c) })
	requirePermissions(t, c)
	first := f.newPod(c)
	f.admit("m1")
	f.placesAndMends(c, "registry.example/web:v1")
	f.emptiesNodes(c)
	f.lacksAPermission(c, "m1")

	first.vanish()
	require.NoError(t, c.Clients().CoreV1().Secrets(system).Delete(t.Context(), "flotilla-agent-token", metav1.DeleteOptions{}))
	second := f.newPod(c)
	f.placesAndMends(c, "registry.example/web:v2")

	f.run("member", "leave", "m1", "--when-leaving", "Delete")
	eventually(t, func(ctx context.Context) error { return gone(ctx, c, "shop") })
	second.vanish()
	requireNothingElseWasRefused(t, c)
	kubectl(t, c, "delete", "--ignore-not-found", "-f", manifest)
	eventually(t, func(context.Context) error { return compare(before, imprint(t, c)) })
}

// placesAndMends places a namespace at an image, and has a foreign change put right.
func (f *fleet) placesAndMends(c *lab.Cluster, image string) {
	f.Helper()
	f.apply(shop(image))
	f.until(func(ctx context.Context) error { return runs(ctx, c, image) })
	maps := c.Clients().CoreV1().ConfigMaps("shop")
	_, err := maps.Patch(f.Context(), "web", types.MergePatchType, []byte(`{"data":{"image":"tampered"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	require.NoError(f, err)
	f.until(func(ctx context.Context) error {
		found, err := maps.Get(ctx, "web", metav1.GetOptions{})
		if err == nil && found.Data["image"] != image {
			err = fmt.Errorf("found %v", found.Data)
		}
		return err
	})
}

// url is where the hub's server is.
func (f *fleet) url() string { return strings.TrimPrefix(f.env[0], "NATS_URL=") }

// withoutSystem removes what agents of other tests left.
func withoutSystem(t *testing.T, c *lab.Cluster) {
	t.Helper()
	err := c.Clients().CoreV1().Namespaces().Delete(t.Context(), system, metav1.DeleteOptions{})
	require.True(t, err == nil || apierrors.IsNotFound(err), err)
	eventually(t, func(ctx context.Context) error { return gone(ctx, c, system) })
}

// placesAreFilledIn waits for the controller that joins ClusterRoles.
func placesAreFilledIn(ctx context.Context, c *lab.Cluster) error {
	role, err := c.Clients().RbacV1().ClusterRoles().Get(ctx, "flotilla-agent-places", metav1.GetOptions{})
	if err == nil && len(role.Rules) == 0 {
		err = fmt.Errorf("%s has no rules yet", role.Name)
	}
	return err
}

// requireNothingElseWasRefused looks for what the agent's permissions lack, but for what they are to lack for a while.
func requireNothingElseWasRefused(t *testing.T, c *lab.Cluster) {
	t.Helper()
	asked := 0
	var refused []lab.Request
	for _, r := range requests(t, c) {
		if r.User == agentUser {
			asked++
			if r.Code == 403 && r != refusedRead && !slices.Contains(refused, r) {
				refused = append(refused, r)
			}
		}
	}
	require.Greater(t, asked, 20)
	require.Empty(t, refused)
}

// Every manifest is what an API server takes: the kustomize bases, and the charts with values.
func TestManifestsAreTaken(t *testing.T) {
	t.Parallel()
	c := clusterOf(t, "m2")
	kubectl(t, c, "apply", "--server-side", "-f", "../../configs/kubernetes/kustomize/agent/1-namespaces.yaml")
	ns := namespace(t, c)
	for _, base := range []string{"agent", "hub", "hub-nats", "management"} {
		kubectl(t, c, "apply", "--server-side", "--dry-run=server", "-k", "../../configs/kubernetes/kustomize/"+base)
	}
	everything := map[string]any{
		"token": "t", "managementSecret": "way", "agentNamespace": ns, "imagePullSecrets": []any{map[string]any{"name": "pull"}}, "nodeSelector": map[string]any{"disk": "ssd"},
		"tolerations":       []any{map[string]any{"key": "dedicated", "operator": "Exists"}},
		"affinity":          map[string]any{"nodeAffinity": map[string]any{}},
		"priorityClassName": "system-cluster-critical", "storageClassName": "fast",
		"page":    map[string]any{"enabled": true, "url": "https://fleet.example.com"},
		"service": map[string]any{"type": "LoadBalancer", "annotations": map[string]any{"example.com/internal": "true"}},
	}
	for chart, values := range map[string]map[string]any{
		kubernetes.Agent:      everything,
		kubernetes.Hub:        everything,
		kubernetes.Management: everything,
	} {
		for _, url := range []string{"", "nats://a:4222"} {
			values["natsURL"] = url
			files, err := kubernetes.Render(chart, ns, values)
			require.NoError(t, err)
			path := t.TempDir() + "/all.yaml"
			require.NoError(t, os.WriteFile(path, []byte(kubernetes.Text(files)), 0o600))
			kubectl(t, c, "apply", "--server-side", "--dry-run=server", "-f", path)
		}
	}
}
