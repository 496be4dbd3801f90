package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/bus"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// freshHub is a hub with an embedded server that nothing was applied to.
func freshHub(t *testing.T) *dev.Fleet {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fleet, err := dev.Start(ctx, dev.Options{
		Hub: hubd.Options{Now: elsewhen.Now, Fleet: "default", Server: &server.Options{Dir: t.TempDir(), Port: -1, Log: zerolog.Nop()}, Log: zerolog.Nop()},
		Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	return fleet
}

// onFresh runs one command line against a hub of its own and returns what it printed.
func onFresh(t *testing.T, words ...string) (fleet *dev.Fleet, out, errs string) {
	t.Helper()
	fleet = freshHub(t)
	env := liveEnvironment(fleet)
	var printed, remarked bytes.Buffer
	env.Out, env.Err = &printed, &remarked
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.Zero(t, cli.Main(ctx, words, env), "%s%s", &printed, &remarked)
	return fleet, printed.String(), remarked.String()
}

const seedPools = "../../core/validate/testdata/nodepools"

// weekendWarning is how the weekend example of guides is told to block for ever, with the form that was meant.
const weekendWarning = `BudgetLint: spec.disruption.budgets[1]: nodes "0" without a schedule blocks every disruption, always: the smallest of the active budgets wins; to allow disruptions only in the window, write:
budgets:
- nodes: "50%"
- nodes: "0"
  schedule: "0 0 * * 1"
  duration: "120h"`

// Every NodePool that the guides print, whole or as a fragment in a minimal named pool, each side of a choice by
// itself, is applied unmodified to a hub of its own, and is stored as it was written.
func TestNodePoolsOfGuidesApplyUnmodified(t *testing.T) {
	files, err := filepath.Glob(seedPools + "/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 13)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			fleet, out, errs := onFresh(t, "apply", "-f", file)
			require.Regexp(t, `^nodepool\S*/\S+ created\n`, out)
			require.Equal(t, strings.Contains(file, "weekend"), strings.Contains(errs, "BudgetLint"), errs)

			var wrote, stored struct {
				Metadata struct{ Name string }
				Spec     map[string]any
				Status   api.NodePoolStatus
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, yaml.Unmarshal(text, &wrote))
			ask(t, fleet, api.VerbGet, api.GetRequest{Kind: api.KindNodePool, Name: wrote.Metadata.Name}, &stored)
			require.Equal(t, asText(wrote.Spec), asText(stored.Spec))
			if strings.Contains(file, "weekend") {
				require.Equal(t, []string{weekendWarning}, stored.Status.Lint)
			}
		})
	}
}

// asText makes numbers and strings that mean the same quantity equal: limits are kept as strings.
func asText(spec map[string]any) map[string]any {
	if limits, ok := spec["limits"].(map[string]any); ok {
		for name, amount := range limits {
			text, _ := json.Marshal(amount)
			limits[name] = strings.Trim(string(text), `"`)
		}
	}
	return spec
}

func ask(t *testing.T, fleet *dev.Fleet, verb string, request, answer any) {
	t.Helper()
	require.NoError(t, bus.Request(t.Context(), fleet.Client, verb, request, answer, bus.RequestOptions{}))
}

// The answer to apply shows the corrected form of the weekend example; that form applies without a remark.
func TestTheWeekendExampleIsCorrected(t *testing.T) {
	_, _, errs := onFresh(t, "apply", "-f", seedPools+"/fragment-weekend.yaml")
	require.Contains(t, errs, "note: NodePool/default: "+weekendWarning+"\n")
	_, corrected, _ := strings.Cut(weekendWarning, "write:\n")
	file := filepath.Join(t.TempDir(), "weekend.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: default\nspec:\n  disruption:\n    "+
		strings.ReplaceAll(corrected, "\n", "\n    ")+"\n"), 0o600))
	_, _, errs = onFresh(t, "apply", "-f", file)
	require.NotContains(t, errs, "BudgetLint")
}

// What guides annotate with do-not-disrupt beside pools, workloads and nodes, is accepted as content.
func TestAnnotatedObjectsOfGuidesApply(t *testing.T) {
	for name, fragment := range map[string]string{
		"deployment": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: default, namespace: shop}
spec:
  template:
    metadata:
      annotations:
        karpenter.sh/do-not-disrupt: "true"
`,
		"node": `
apiVersion: v1
kind: Node
metadata:
  name: default
  annotations:
    karpenter.sh/do-not-disrupt: "true"
`,
	} {
		file := filepath.Join(t.TempDir(), name+".yaml")
		require.NoError(t, os.WriteFile(file, []byte(fragment), 0o600))
		_, out, _ := onFresh(t, "apply", "-f", file)
		require.Regexp(t, `^`+name+`\S*/default created\n`, out)
	}
}
