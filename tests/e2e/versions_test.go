package e2e

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/documented"
)

// TestTheDocumentNamesWhatIsBuilt holds versions against the modules that are built, those that nodes say too.
func TestTheDocumentNamesWhatIsBuilt(t *testing.T) {
	required := map[string]string{}
	for file, wanted := range map[string]string{
		"kube/go.mod": `(\S+) (v\S+)$`, "karpenter/go.mod": `(sigs\.k8s\.io/karpenter) (v\S+) // indirect$`, "clusterapi/go.mod": `(sigs\.k8s\.io/cluster-api) (v\S+) // indirect$`,
	} {
		module, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, line := range regexp.MustCompile(`(?m)^\s+`+wanted).FindAllStringSubmatch(string(module), -1) {
			required[line[1]] = line[2]
		}
	}
	rows := documented.Table(t, "../../docs/testing.md", "### What is built")
	for i, path := range []string{"k8s.io/kubernetes", "go.etcd.io/etcd/server/v3", "sigs.k8s.io/kwok", "sigs.k8s.io/karpenter", "sigs.k8s.io/cluster-api"} {
		require.NotEmpty(t, required[path], path)
		require.Regexp(t, "^"+regexp.QuoteMeta(required[path])+"( |$)", rows[i][1], path)
	}
	stages, err := os.ReadFile("lab/stages.yaml")
	require.NoError(t, err)
	require.Contains(t, string(stages), `"`+required["k8s.io/kubernetes"]+`"`)
}
