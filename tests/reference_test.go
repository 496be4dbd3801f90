package tests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/hub/flotilla/cli/session"
)

// reference is the document whose examples are generated from the program.
const reference = "../docs/cli.md"

// fixtures are the files that examples name, by where they are copied from; those of several are joined.
var fixtures = map[string]string{
	"web.yaml": "web.yaml", "fleet.yaml": "fleet.yaml", "run.yaml": "run.yaml", "maintenance.yaml": "maintenance.yaml",
	"pool.yaml": "nodes-pool.yaml", "pools.yaml": "nodes-pool.yaml", "catalog.yaml": "nodes-catalog.yaml",
	"nodes.yaml": "nodes-nodes.yaml", "pods.yaml": "nodes-pods.yaml", "member.yaml": "nodes-nodes.yaml,nodes-pods.yaml",
	"member/all.yaml":                    "nodes-pool.yaml,nodes-catalog.yaml,nodes-nodes.yaml,nodes-pods.yaml",
	"overlays/prod/kustomization.yaml":   "overlay/kustomization.yaml",
	"overlays/prod/placement.yaml":       "overlay/placement.yaml",
	"spare.yaml":                         "spare.yaml",
	"override.yaml":                      "overrides.yaml",
	"got/nodes,pods,pdb,daemonsets":      "nodes-nodes.yaml,nodes-pods.yaml",
	"got/nodes":                          "nodes-nodes.yaml",
	"got/nodepools,aksnodeclasses":       "nodes-pool.yaml",
	"got/memberclusters,clusterresource": "fleet.yaml,web.yaml",
}

// others are programs of others that examples call: they print what the files of the folder have.
var others = map[string]string{
	"kubectl":   `for file in got/*; do case "$2" in "${file#got/}"*) found=$file;; esac; done; exec cat "$found"`,
	"kustomize": `exec cat web.yaml`,
	"nano":      `exec true`,
}

// notFound is how a shell ends that does not find a program.
const notFound = 127

// killed is the code of what did not end by itself.
const killed = -1

// first is what is typed before an example, so that there is what it names.
var first = map[string]string{
	"flotilla describe placement web":                                    "flotilla apply -f web.yaml",
	"flotilla wait member/berlin --for=jsonpath='{.status.state}'=Ready": "flotilla member admit berlin",
	"flotilla wait placement/web --for=condition=Available --timeout=2m": "flotilla scale placement/web --clusters 2",
	"flotilla wait placement/web --for=delete":                           "flotilla delete placement web --wait=false",
	"flotilla scale placement/web --clusters 5":                          "flotilla member cordon dublin",
	"flotilla get deployments -A -l app=web -w":                          "flotilla label deployment/worker app=web -n batch-compute --overwrite",
	"flotilla get disruptions -w":                                        "flotilla apply -f configs/examples/,configs/examples/nodes/catalog-east.yaml,configs/examples/nodes/pool-workers.yaml",
}

// then is what is typed behind an example, so that the fleet is as it was for those that come.
var then = map[string]string{
	"flotilla drain member berlin":                                   "flotilla uncordon member berlin",
	"flotilla member drain berlin":                                   "flotilla uncordon member berlin && flotilla delete placement web && flotilla apply -f web.yaml",
	`flotilla freeze --reason "the shop has its sale"`:               "flotilla unfreeze",
	`flotilla freeze placements --reason "registry is down"`:         "flotilla unfreeze placements",
	`flotilla freeze member berlin --reason "somebody debugs there"`: "flotilla unfreeze member berlin",
}

// TestExamplesOfTheReference types each example of docs/cli.md into a shell, beside a fleet as --dev starts it and
// files of the names that the examples give: each is understood. Some name versions, groups or runs that the fleet
// does not have, and say so.
func TestExamplesOfTheReference(t *testing.T) {
	folder := t.TempDir()
	r := reader{fleet: devFleet(t), programs: build(t), folder: folder}
	r.furnish(t)
	examples := r.examples(t)
	require.Greater(t, len(examples), 80)
	for _, line := range append(examples, fromFiles(t)...) {
		if before := first[line]; before != "" {
			r.run(t, before)
		}
		code, said := r.understood(t, line)
		require.NotContains(t, []int{session.ExitUsage, session.ExitPartial, session.ExitUnreachable, session.ExitTimedOut, notFound, killed}, code, "$ %s\n%s", line, said)
		if behind := then[line]; behind != "" {
			r.run(t, behind)
		}
	}
}

// examples are the lines of all blocks behind "Examples:".
func (r *reader) examples(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(reference)
	require.NoError(t, err)
	var lines []string
	for _, part := range strings.Split(string(text), "\nExamples:\n\n```\n")[1:] {
		block, _, closed := strings.Cut(part, "\n```")
		require.True(t, closed)
		for line := range strings.Lines(block) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// fromFiles are the lines of the guide of node disruption that need no hub.
func fromFiles(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(guides["node disruption"].path)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "answered from files that hold Nodes, without a hub:\n\n```\n")
	require.True(t, found)
	block, _, _ := strings.Cut(rest, "\n```")
	return strings.Split(block, "\n")
}

// furnish puts the files, and the programs of others, where the examples are typed.
func (r *reader) furnish(t *testing.T) {
	t.Helper()
	configs, err := filepath.Abs("../configs")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(configs, filepath.Join(r.folder, "configs")))
	for name, from := range fixtures {
		var parts []string
		for file := range strings.SplitSeq(from, ",") {
			text, err := os.ReadFile(filepath.Join("cli/testdata/files", file))
			require.NoError(t, err)
			parts = append(parts, strings.ReplaceAll(string(text), "c-busy", "node-7"))
		}
		path := filepath.Join(r.folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(parts, "\n---\n")), 0o600))
	}
	for name, script := range others {
		require.NoError(t, os.WriteFile(filepath.Join(r.programs, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // a program
	}
}

// understood types a line and returns how it ended. What goes on for ever is interrupted once it has shown something.
func (r *reader) understood(t *testing.T, line string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if strings.HasSuffix(line, " -w") {
		return session.ExitDone, r.watch(t, line, `.`)
	}
	shell := r.shell(ctx, line)
	out, _ := shell.CombinedOutput()
	return shell.ProcessState.ExitCode(), string(out)
}

// build makes the command line client, in a folder of its own.
func build(t *testing.T) (programs string) {
	t.Helper()
	programs = t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(programs, "flotilla"), "flotilla/hub/flotilla").CombinedOutput()
	require.NoError(t, err, string(out))
	return programs
}
