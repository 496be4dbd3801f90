//go:build e2e && drivers

package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"flotilla/bus/bustest"
	"flotilla/tests/e2e/lab"
	"flotilla/tests/elsewhen"
	"flotilla/tests/rig"
)

// managers are the controllers of Cluster API, by the folder of each in its module.
var managers = []string{"core", "bootstrap/kubeadm", "controlplane/kubeadm"}

const clusterAPI = "sigs.k8s.io/cluster-api"

// startClusterAPI builds the controllers of Cluster API and starts them beside a cluster, with their definitions and
// their admission webhooks.
func startClusterAPI(t *testing.T, c *lab.Cluster) {
	t.Helper()
	source := moduleOf(t, "clusterapi", clusterAPI)
	for _, manager := range managers {
		definitions(t, c, filepath.Join(source, manager, "config/crd/bases"))
	}
	kubectlSays(t, c, "apply", "--server-side", "-f", "clusterapi/play.yaml")
	kubectlSays(t, c, "wait", "--for=condition=Established", "--timeout=1m", "crd", "--all")
	admin, err := c.Admin()
	require.NoError(t, err)
	certificates, authority := servingCertificates(t)
	for _, manager := range managers {
		port := bustest.FreePort(t)
		words := []string{
			"--webhook-port=" + port, "--webhook-cert-dir=" + certificates, "--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics",
			"--feature-gates=ClusterTopology=true", "--v=0",
		}
		if manager == "core" {
			words = append(words, `--additional-sync-machine-labels=^(karpenter\.sh|(node|topology)\.kubernetes\.io)/`)
		}
		rig.Start(t, []string{"KUBECONFIG=" + admin}, buildOf(t, "clusterapi", clusterAPI+"/"+manager), words...)
		waitsForPort(t, port)
		hooks(t, c, filepath.Join(source, manager, "config/webhook/manifests.yaml"), strings.ReplaceAll(manager, "/", "-"), port, authority)
	}
}

// waitsForPort waits until somebody listens on a port.
func waitsForPort(t *testing.T, port string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// definitions applies those of a folder, with the label that says which contract their objects keep to.
func definitions(t *testing.T, c *lab.Cluster, folder string) {
	t.Helper()
	kubectlSays(t, c, "apply", "--server-side", "-f", folder)
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		kubectlSays(t, c, "label", "--overwrite", "crd", plural+"."+group, "cluster.x-k8s.io/v1beta2=v1beta2")
	}
}

// hooks applies the admission webhooks of a manager that listens on a port of the loopback address.
func hooks(t *testing.T, c *lab.Cluster, path, name, port string, authority []byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		body, err := yaml.YAMLToJSON([]byte(strings.TrimPrefix(document, "---\n")))
		require.NoError(t, err)
		require.NoError(t, o.UnmarshalJSON(body))
		all, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		require.NoError(t, err)
		for _, hook := range all {
			one, _ := hook.(map[string]any)
			at, _, err := unstructured.NestedString(one, "clientConfig", "service", "path")
			require.NoError(t, err)
			one["clientConfig"] = map[string]any{"url": "https://" + net.JoinHostPort("127.0.0.1", port) + at, "caBundle": base64.StdEncoding.EncodeToString(authority)}
		}
		require.NoError(t, unstructured.SetNestedSlice(o.Object, all, "webhooks"))
		o.SetName(name + "-" + o.GetName())
		kind := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: strings.ToLower(o.GetKind()) + "s"}
		_, err = objectsOf(t, c).Resource(kind).Create(t.Context(), o, metav1.CreateOptions{})
		require.NoError(t, err)
		t.Cleanup(func() {
			_ = objectsOf(t, c).Resource(kind).Delete(context.Background(), o.GetName(), metav1.DeleteOptions{})
		})
	}
}

// servingCertificates writes a certificate for the loopback address, and returns its folder and who signed it: itself.
func servingCertificates(t *testing.T) (folder string, authority []byte) {
	t.Helper()
	certificate, key := authorityOf(t, "webhooks")
	folder = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600))
	return folder, certificate
}

// authorityOf is a certificate that signs itself and others, good for the loopback address too.
func authorityOf(t testing.TB, name string) (certificate, key []byte) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: elsewhen.Now().Add(-time.Hour), NotAfter: elsewhen.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
}

// buildOf builds a program of a module beside this package, and returns its path.
func buildOf(t *testing.T, module, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(filepath.Dir(program))+"-"+filepath.Base(program))
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, program)
	build.Dir, build.Env = module, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	return path
}

// moduleOf is the folder of the source of a module that one beside this package needs.
func moduleOf(t *testing.T, module, name string) string {
	t.Helper()
	where := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", name)
	where.Dir, where.Env = module, append(os.Environ(), "GOWORK=off")
	source, err := where.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(source))
}

func objectsOf(t testing.TB, c *lab.Cluster) dynamic.Interface {
	t.Helper()
	objects, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	return objects
}
