//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/tests/e2e/binaries"
	"flotilla/tests/e2e/lab"
	"flotilla/tests/rig"
)

// patience is for machines that do much else.
const patience = 2 * time.Minute

var folder = flag.String("e2e.folder", "", "where certificates, data and logs go and stay; empty: a folder that goes with the tests")

var clustersFlag = flag.Int("e2e.clusters", len(members), "how many of the clusters m1, m2, m3 there are; tests that need others fail")

var members = []string{"m1", "m2", "m3"}

// lastMember is the cluster that least is tested on: m3 where there are three, and m1 where it is the only one.
func lastMember() string { return members[len(members)-1] }

// clusters are what all tests share; each works in namespaces and with users of its own. In built are hub, agent and
// flotilla.
var (
	clusters *lab.Lab
	programs binaries.Set
	built    string
)

func TestMain(m *testing.M) {
	if os.Getenv(holder) != "" {
		hold()
		return
	}
	flag.Parse()
	members = members[:min(max(1, *clustersFlag), len(members))]
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(ctx context.Context, m *testing.M) (code int, err error) {
	if programs, err = binaries.Ensure(ctx, os.Stderr); err != nil {
		return 1, err
	}
	if built, err = os.MkdirTemp("", "flotilla-e2e-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(built)) }()
	building := make(chan error, 1)
	go func() {
		building <- rig.Build(built+"/", nil, "flotilla/hub", "flotilla/agent", "flotilla/hub/flotilla")
	}()
	clusters, err = lab.Start(ctx, lab.Options{
		Binaries: programs, Folder: *folder, Clusters: members, Nodes: 2, Audit: true,
	})
	if err == nil {
		defer func() { err = errors.Join(err, clusters.Stop()) }()
	}
	if err = errors.Join(<-building, err); err != nil {
		return 1, err
	}
	ended := make(chan int, 1)
	go func() { ended <- m.Run() }()
	select {
	case code := <-ended:
		return code, nil
	case <-ctx.Done():
		return 130, errors.New("interrupted")
	}
}

// clusterOf is one of m1, m2, m3. The test fails if a process of any cluster ends meanwhile, and shows what the logs of
// this one said if it fails.
func clusterOf(t testing.TB, name string) *lab.Cluster {
	t.Helper()
	require.Contains(t, members, name, "-e2e.clusters leaves it out")
	c := clusters.Cluster(name)
	began := c.Mark()
	t.Cleanup(func() {
		if err := clusters.Err(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("what %s said meanwhile:\n%s", name, c.Tails(began))
		}
	})
	return c
}

// namespace makes one with a name of its own, and deletes it at the end of the test without waiting for it.
func namespace(t testing.TB, c *lab.Cluster) string {
	t.Helper()
	template := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	made, err := c.Clients().CoreV1().Namespaces().Create(t.Context(), template, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Clients().CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	return made.Name
}

// eventually waits for a condition, which should say what the state is.
func eventually(t testing.TB, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	require.NoError(t, lab.Until(ctx, condition))
}
