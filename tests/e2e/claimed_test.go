//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/tests/e2e/lab"
)

// stock is a namespace with a volume, placed on some members.
func stock(data, policy string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: stock}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: stock}
data: {is: %s}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: stock}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: stock}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: stock}]
  policy: %s
  strategy: {rollingUpdate: {maxUnavailable: 100%%, unavailablePeriodSeconds: 0}}
`, data, policy)
}

// everywhere and onOslo are policies.
const everywhere, onOslo = "{placementType: PickFixed, clusterNames: [berlin, oslo]}", "{placementType: PickFixed, clusterNames: [oslo]}"

// holdsStock is an error until the ConfigMap of stock is so; it returns the uid of the volume's claim.
func holdsStock(ctx context.Context, c *lab.Cluster, data string) (types.UID, error) {
	found, err := c.Clients().CoreV1().ConfigMaps("stock").Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if found.Data["is"] != data {
		return "", fmt.Errorf("found %v, expected %s", found.Data, data)
	}
	claim, err := c.Clients().CoreV1().PersistentVolumeClaims("stock").Get(ctx, "data", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return claim.UID, nil
}

// beside starts the agent of berlin again, beside a cluster and as a user of its own.
func (f *fleet) beside(c *lab.Cluster, arguments ...string) {
	f.Helper()
	kubeconfig, err := c.Kubeconfig("agent-of-berlin", "system:masters")
	require.NoError(f, err)
	f.agents["berlin"].StartWith(f, append([]string{"--data", f.path("berlin"), "--kubeconfig", kubeconfig, "--heartbeat-interval", "1s"}, arguments...)...)
}

// saysOf waits until a member is in a state, and its message has a text; it returns the message.
func (f *fleet) saysOf(member, state, text string) (message string) {
	f.Helper()
	f.until(func(context.Context) error {
		said, err := f.try("get", "member", member, "-o", "json")
		if err != nil {
			return err
		}
		var shown struct {
			Status struct{ State, Message string }
		}
		if err := json.Unmarshal([]byte(said), &shown); err != nil {
			return err
		}
		if message = shown.Status.Message; shown.Status.State != state || !strings.Contains(message, text) {
			return fmt.Errorf("%s is %s, %q; expected %s, %q", member, shown.Status.State, message, state, text)
		}
		return nil
	})
	return message
}

// shows waits until a command prints a text.
func (f *fleet) shows(text string, words ...string) {
	f.Helper()
	f.until(func(context.Context) error {
		said, err := f.try(words...)
		if err == nil && !strings.Contains(said, text) {
			err = errors.New(said)
		}
		return err
	})
}

// An agent that is pointed at the cluster of another member, or at one that was made anew, writes nothing there, and says what to type.
func TestAClusterBelongsToItsMember(t *testing.T) {
	t.Parallel()
	l, err := lab.Start(t.Context(), lab.Options{Binaries: programs, Clusters: []string{"oslo", "berlin", "anew"}, Nodes: 1, Audit: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Stop() })
	oslo, berlin, anew := l.Cluster("oslo"), l.Cluster("berlin"), l.Cluster("anew")
	f := newHub(t)
	f.join("oslo", oslo, "--shared-cluster=false")
	f.join("berlin", berlin, "--shared-cluster=false")
	f.apply(stock("one", everywhere))
	var volume types.UID
	f.until(func(ctx context.Context) (err error) {
		_, unready := holdsStock(ctx, berlin, "one")
		volume, err = holdsStock(ctx, oslo, "one")
		return errors.Join(unready, err)
	})

	f.beside(oslo)
	f.saysOf("berlin", "NotReady", "which is member \"oslo\" of fleet \"default\", not \"berlin\"")
	require.NoError(t, os.Remove(f.path("berlin", "cluster.json")))
	f.beside(oslo)
	f.saysOf("berlin", "NotReady", "which is member \"oslo\" of fleet \"default\", not \"berlin\"")
	f.shows("SharedCluster", "status")
	f.apply(stock("two", everywhere))
	f.until(func(ctx context.Context) error {
		_, err := holdsStock(ctx, oslo, "two")
		return err
	})
	f.shows("the agent does nothing on the cluster", "describe", "placement", "stock")
	f.apply(stock("two", onOslo))
	f.until(func(context.Context) error { return f.agents["berlin"].Says("following a new command generation=3") })
	f.shows("the agent does nothing on the cluster", "describe", "member", "berlin")
	f.beside(berlin)
	f.saysOf("berlin", "Ready", "")
	f.until(func(ctx context.Context) error { return gone(ctx, berlin, "stock") })
	kept, err := holdsStock(t.Context(), oslo, "two")
	require.NoError(t, err)
	require.Equal(t, volume, kept)
	requireNothingWritten(t, oslo)

	f.beside(anew)
	message := f.saysOf("berlin", "NotReady", "where the cluster was made anew")
	f.apply(stock("two", everywhere))
	typed := regexp.MustCompile(`--cluster [-0-9a-f]+`).FindString(message)
	require.NotEmpty(t, typed, message)
	requireNothingWritten(t, anew)
	f.beside(anew, strings.Fields(typed)...)
	f.until(func(ctx context.Context) error {
		_, err := holdsStock(ctx, anew, "two")
		return err
	})
	f.beside(anew)
	f.saysOf("berlin", "Ready", "")
	require.NoError(t, l.Err())
}

// requireNothingWritten looks at what the agent of berlin asked of a cluster.
func requireNothingWritten(t *testing.T, c *lab.Cluster) {
	t.Helper()
	asked := 0
	for _, r := range requests(t, c) {
		if r.User == "agent-of-berlin" {
			asked++
			require.Contains(t, []string{"get", "list", "watch"}, r.Verb, "%+v", r)
		}
	}
	require.NotZero(t, asked)
}

// An agent whose data directory was put back from a copy changes nothing that was changed since, with the hub away and with the hub there.
func TestAnOlderDiskBringsNothingBack(t *testing.T) {
	t.Parallel()
	l, err := lab.Start(t.Context(), lab.Options{Binaries: programs, Clusters: []string{"oslo"}, Nodes: 1, Audit: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Stop() })
	oslo := l.Cluster("oslo")
	f := newHub(t)
	f.join("oslo", oslo, "--shared-cluster=false")
	extra := strings.NewReplacer("stock", "extra").Replace(stock("one", onOslo))
	f.apply(stock("one", onOslo) + "---" + extra)
	holds := func(data string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := holdsStock(ctx, oslo, data)
			return err
		}
	}
	f.until(holds("one"))
	f.until(func(ctx context.Context) error {
		_, err := oslo.Clients().CoreV1().ConfigMaps("extra").Get(ctx, "web", metav1.GetOptions{})
		return err
	})
	agent := f.agents["oslo"]
	require.True(t, agent.Terminate(patience))
	f.copies("oslo", "before")
	agent.Start(t)
	f.apply(stock("two", onOslo))
	f.run("delete", "placement", "extra", "--wait")
	f.until(holds("two"))
	f.until(func(ctx context.Context) error { return gone(ctx, oslo, "extra") })
	require.True(t, agent.Terminate(patience))

	f.hub.Kill()
	require.NoError(t, os.RemoveAll(f.path("oslo")))
	f.copies("before", "oslo")
	since := len(requests(t, oslo))
	agent.Start(t)
	f.until(func(context.Context) error { return agent.Says("nothing is written before the hub has said") })
	f.hub.Start(t)
	f.shows("led by", "status")
	f.run("wait", "member/oslo", "--for=jsonpath={.status.state}=Ready", "--timeout=2m")
	f.apply(stock("three", onOslo))
	f.until(holds("three"))
	for _, r := range requests(t, oslo)[since:] {
		require.False(t, r.User == fleetUser && r.Verb == "create", "%+v", r)
	}
	require.NoError(t, gone(t.Context(), oslo, "extra"))
	require.NoError(t, l.Err())
}

// copies copies a folder of the fleet, with the modes of its files.
func (f *fleet) copies(from, to string) {
	f.Helper()
	out, err := exec.CommandContext(f.Context(), "cp", "-a", f.path(from), f.path(to)).CombinedOutput()
	require.NoError(f, err, string(out))
}
