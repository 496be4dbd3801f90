package agentd

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"flotilla/agent/target/kube"
	"flotilla/agent/upgrader"
	"flotilla/agent/upgrader/none"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// The cluster that the configuration names wins over the one that the agent remembers; where the cluster is shared nobody looks.
func TestWhichClusterAMemberIs(t *testing.T) {
	before := kube.Known{UID: "c1", Account: "A"}
	for name, c := range map[string]struct {
		kubernetes configs.Kubernetes
		remembered bool
		known      *kube.Known // nil: nobody looks whose the cluster is
	}{
		"the first one":    {configs.Kubernetes{}, false, &kube.Known{}},
		"the one before":   {configs.Kubernetes{}, true, &before},
		"named, as before": {configs.Kubernetes{Cluster: "c1"}, true, &before},
		"named, made anew": {configs.Kubernetes{Cluster: "c2"}, true, &kube.Known{UID: "c2"}},
		"shared":           {configs.Kubernetes{Shared: true}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			config := configs.DefaultAgent()
			config.Member, config.DataDir, config.Target.Kubernetes = "berlin", t.TempDir(), c.kubernetes
			a := &Agent{o: Options{Config: config}}
			if c.remembered {
				claim, err := (&Agent{o: Options{Config: configs.Agent{DataDir: config.DataDir}}}).claim()
				require.NoError(t, err)
				require.NoError(t, claim.Remember(before))
			}
			claim, err := a.claim()
			require.NoError(t, err)
			if c.known == nil {
				require.Nil(t, claim)
				return
			}
			require.Equal(t, *c.known, claim.Known)
			require.Equal(t, "berlin", claim.Member)
		})
	}
}

// A file that cannot be read is no reason to take any cluster.
func TestADamagedMemoryOfTheClusterStopsTheAgent(t *testing.T) {
	config := configs.DefaultAgent()
	config.DataDir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(config.DataDir, "cluster.json"), []byte("{"), 0o600))
	_, err := (&Agent{o: Options{Config: config}}).claim()
	require.ErrorContains(t, err, "cluster.json of the folder")
}

// clusterOf is an API server that says whose member the cluster is.
func clusterOf(t *testing.T, member *atomic.Value) *kube.Target {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var found any
		switch r.URL.Path {
		case "/api/v1/namespaces/kube-system":
			found = corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "c1"}}
		case "/api/v1/namespaces/flotilla-system/configmaps/member":
			found = corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"fleet": "default", "member": member.Load().(string), "cluster": "c1"}}
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(found)
	}))
	t.Cleanup(server.Close)
	made, err := kube.New(kube.Options{Config: &rest.Config{Host: server.URL}, Claim: &kube.Claim{
		Fleet: "default", Member: "berlin",
		Account:  func() (string, error) { return "", nil },
		Remember: func(kube.Known) error { return nil },
		Now:      elsewhen.Now,
	}})
	require.NoError(t, err)
	t.Cleanup(made.Close)
	return made
}

// A cluster that makes its own machines is guarded where those are made, too.
func TestMachinesAreOfTheMembersOwnCluster(t *testing.T) {
	var member atomic.Value
	member.Store("oslo")
	o := Options{Config: configs.DefaultAgent()}
	o.Config.Member = "berlin"
	unreachable(t, &o)
	view, err := (&Agent{o: o, target: clusterOf(t, &member)}).toManagement()
	require.NoError(t, err)
	require.ErrorContains(t, view.Check(t.Context()), "the agent does nothing on the cluster, which is member \"oslo\"")
}

// begun is a driver that tells when it is asked to carry something out.
type begun struct {
	none.Driver
	told chan string
}

func (b begun) Run(context.Context, api.UpgradeOperation, func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	b.told <- "run"
	return api.UpgradeResult{}, true, nil
}

func (b begun) Resume(context.Context, api.UpgradeOperation, func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	b.told <- "resume"
	return api.UpgradeResult{}, true, nil
}

// No upgrade is carried out on another member's cluster; where there is none to be taken for it, at once.
func TestUpgradesAreOfTheMembersOwnCluster(t *testing.T) {
	var member atomic.Value
	for name, follow := range map[string]func(upgrader.Driver, context.Context){
		"run":    func(d upgrader.Driver, ctx context.Context) { _, _, _ = d.Run(ctx, api.UpgradeOperation{}, nil) },
		"resume": func(d upgrader.Driver, ctx context.Context) { _, _, _ = d.Resume(ctx, api.UpgradeOperation{}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			member.Store("berlin")
			driver := begun{told: make(chan string, 1)}
			follow(ownDriver{driver, &Agent{target: clusterOf(t, &member)}}, t.Context())
			require.Equal(t, name, <-driver.told)
			follow(ownDriver{driver, &Agent{}}, t.Context())
			require.Equal(t, name, <-driver.told)

			member.Store("oslo")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			follow(ownDriver{driver, &Agent{target: clusterOf(t, &member)}}, ctx)
			require.Empty(t, driver.told)
		})
	}
}
