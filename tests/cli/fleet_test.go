package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// TestPlanOfAThousandMembers plans a placement offline over a fleet of 1,000 exported members and
// checks the JSON: a verdict for each of them, the best ones picked, and no more than wanted.
func TestPlanOfAThousandMembers(t *testing.T) {
	const members, wanted = 1000, 10
	path := filepath.Join(t.TempDir(), "fleet.yaml")
	require.NoError(t, os.WriteFile(path, []byte(exportedFleet(members, wanted)), 0o600))

	var out, errs bytes.Buffer
	env := offlineEnvironment()
	env.Out, env.Err = &out, &errs
	code := cli.Main(t.Context(), []string{"plan", "-f", path, "-o", "json"}, env)
	require.Equal(t, session.ExitDifferent, code, errs.String())

	var report struct {
		Placements []struct {
			Name      string
			Fulfilled bool
			Picked    []struct {
				Member, Change string
				AffinityScore  *int32
			}
			Removed  []any
			Verdicts []struct {
				Member, Filter string
				Rank           int
			}
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Len(t, report.Placements, 1)
	p := report.Placements[0]
	require.True(t, p.Fulfilled)
	require.Len(t, p.Picked, wanted)
	require.Empty(t, p.Removed)
	require.Len(t, p.Verdicts, members)
	filters := map[string]int{}
	for i, v := range p.Verdicts {
		require.Equal(t, fmt.Sprintf("member-%04d", i), v.Member)
		filters[v.Filter]++
	}
	// Two of three members match, and the ten with the most free CPU of them are picked.
	require.Equal(t, map[string]int{"": wanted, "affinity": 334, "rank": members - wanted - 334}, filters)
	for i, pick := range p.Picked {
		require.Equal(t, "add", pick.Change)
		require.GreaterOrEqual(t, *pick.AffinityScore, int32(49))
		if i > 0 {
			require.Less(t, p.Picked[i-1].Member, pick.Member)
		}
	}
}

// exportedFleet writes members as a KubeFleet hub exports them: one list, in YAML.
func exportedFleet(members, wanted int) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range members {
		env := "prod"
		if i%3 == 0 {
			env = "dev"
		}
		fmt.Fprintf(&b, `- apiVersion: cluster.kubernetes-fleet.io/v1beta1
  kind: MemberCluster
  metadata:
    name: member-%04[1]d
    uid: 00000000-0000-4000-8000-%012[1]d
    labels:
      region: region-%[2]d
      env: %[3]s
  spec:
    heartbeatPeriodSeconds: 15
    identity: {kind: ServiceAccount, name: agent, namespace: fleet-system}
  status:
    agentStatus:
    - type: MemberAgent
      lastReceivedHeartbeat: "2026-03-01T12:00:00Z"
      conditions:
      - {type: Joined, status: "True", reason: Joined, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
      - {type: Healthy, status: "True", reason: Healthy, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
    properties:
      kubernetes-fleet.io/node-count: {value: "%[4]d", observationTime: "2026-03-01T12:00:00Z"}
    resourceUsage:
      allocatable: {cpu: "1000", memory: 64Gi}
      available: {cpu: "%[1]d", memory: 16Gi}
      capacity: {cpu: "1000", memory: 64Gi}
      observationTime: "2026-03-01T12:00:00Z"
`, i, i%5, env, i%12)
	}
	fmt.Fprintf(&b, `- apiVersion: placement.kubernetes-fleet.io/v1
  kind: ClusterResourcePlacement
  metadata: {name: web}
  spec:
    resourceSelectors:
    - {group: "", version: v1, kind: Namespace, name: web}
    policy:
      placementType: PickN
      numberOfClusters: %d
      affinity:
        clusterAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            clusterSelectorTerms:
            - labelSelector: {matchLabels: {env: prod}}
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 50
            preference:
              propertySorter: {name: resources.kubernetes-fleet.io/available-cpu, sortOrder: Descending}
`, wanted)
	return b.String()
}
