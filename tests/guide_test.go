package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// guide is a document whose lines a reader types, in their order.
type guide struct {
	path  string
	until string // the heading behind which nothing is typed
	// says is what the output of lines holds, as a pattern. A line that ends with Ctrl-C goes on until it does.
	says map[string]string
}

// disrupts is what a plan of nodes says: what would be disrupted, what is, or that all of it has gone since.
const disrupts = `(?m)^(delete|replace) .*saves|Queued|^nothing to disrupt now$`

var guides = map[string]guide{
	"tour": {
		path: "../README.md", until: "## The ways through the house",
		says: map[string]string{
			"flotilla get members":                        `(?m)^tampa +Ready`,
			"flotilla plan  -f configs/examples/":         `next: flotilla apply -f configs/examples/`,
			"flotilla get placements -w":                  `(?m)^crp-fixed +1 +2 +2 +2 +2 `,
			"flotilla describe placement crp-pickn-01":    `Number Of Clusters: +3`,
			"flotilla why placement/crp-pickn-01":         `(?s)dublin +picked +1 .*cluster2 +affinity .*critical-allowed is "false", wanted "true"`,
			"flotilla why placement/crp-pickn-01 -m oslo": `(?s)no taint: taint dedicated=batch:NoSchedule is present, wanted a toleration.*flip: `,
			"flotilla status":                             `(?s)\A\d problems?\n.*8 Ready`,
			"flotilla run status spring --watch":          `stage default(?s:.*)osaka`,
			"flotilla windows":                            `(?m)^berlin`,
			"flotilla plan nodes -m cluster1":             disrupts,
			"flotilla get disruptions -w":                 `(?m)^\S+ +cluster1 .*Done.*cluster1-2`,
			"flotilla events node/cluster1/cluster1-2":    `DisruptionDone`,
			"flotilla why node/cluster1-1 -m cluster1":    `cluster1-1`,
			"flotilla budgets":                            `workers`,
			"flotilla plan --offline -f configs/examples/fleet/ -f configs/examples/004-pickn-affinity.yaml": `(?m)^plan: `,
		},
	},
	"node disruption": {
		path: "../docs/node-disruption.md",
		says: map[string]string{
			"flotilla apply -f configs/examples/nodes/catalog-east.yaml,configs/examples/nodes/pool-workers.yaml && flotilla plan nodes -m osaka": disrupts,
			"flotilla get disruptions -w":              `(?m)^\S+ +osaka .*Done.*osaka-3`,
			"flotilla events node/osaka/osaka-3":       `DisruptionDone`,
			"flotilla get nodes -m osaka":              `(?m)^osaka-\d`,
			"flotilla why node/cluster1-1 -m cluster1": `cluster1-1`,
			"flotilla budgets":                         `workers`,
		},
	},
	"rollouts": {
		path: "../docs/rollouts.md",
		says: map[string]string{
			"flotilla get placement crp-rolling-update -o yaml":                  `reason: errors in the first region`,
			"flotilla rollout undo placement/crp-rolling-update":                 `(?s)back to revision 1, as revision 3.*pinned to revision 1 by admin.*paused by admin.* undone`,
			"flotilla rollout resume placement/crp-rolling-update":               `follows what it selects`,
			"flotilla rollout status placement/crp-rolling-update --timeout 90s": `rolled out, .*pinned to revision 1 by admin`,
			"flotilla rollout history placement/crp-rolling-update":              `(?m)^3 .* back to revision 1, pinned$`,
			"flotilla rollout history placement/crp-rolling-update --revision 3": `(?m)^  ~ Deployment/storefront/store$`,
			"flotilla rollout restart placement/crp-rolling-update":              `restarted`,
			"flotilla events placement/crp-rolling-update":                       `(?s)RolloutPaused.*RolloutUndone.*RolloutResumed.*RolloutRestarted`,
		},
	},
	"overrides": {
		path: "../docs/overrides.md",
		says: map[string]string{
			"flotilla get placement crp-rolling-update -o yaml": `(?s)applicableResourceOverrides:\s+- name: store-by-region.*reason: OverriddenSucceeded`,
			"flotilla get ro -n storefront":                     `(?m)^store-by-region `,
		},
	},
	"content": {
		path: "../docs/content.md",
		says: map[string]string{
			"flotilla get rp -n reading-room":                `(?m)^hours +1 +3 +3 `,
			"flotilla get rp hours -n reading-room -o yaml":  `(?s)selectedResources:\s+- \S+: .*name: hours`,
			"flotilla get placement checkout-guards -o yaml": `(?s)envelope:\s+name: hooks\s+namespace: checkout\s+type: ConfigMap`,
		},
	},
	"staged rollouts": {
		path: "../docs/staged-rollouts.md",
		says: map[string]string{
			"flotilla run approve bookshop-autumn --gate production/before/Approval": `opened gate production/before/Approval`,
			"flotilla run status bookshop-autumn --watch":                            `run bookshop-autumn +Completed`,
			"flotilla get placement bookshop":                                        `(?m)^bookshop +1 +all +8 +8 +8 `,
			"flotilla events run/bookshop-autumn":                                    `snapshot 1 is available`,
			"flotilla windows tampa":                                                 `(?s)tampa, content: .*America/New_York`,
			"flotilla run status bookshop-night --watch":                             `(?s)run bookshop-night  Completed.*windows ignored: CVE-2026-1234|windows ignored: CVE-2026-1234.*run bookshop-night Completed`,
		},
	},
	"what if": {
		path: "../docs/what-if.md",
		says: map[string]string{
			"flotilla plan --without member/cluster1":                                    `(?s)clusterNames names cluster1, which is gone.*what if: 2 of 2 placements change`,
			"flotilla plan --without-label region=west --without member/dublin -o wide":  `(?s)without member dublin.*what if: 2 of 2 placements change`,
			"flotilla plan --render placement/crp-rolling-update --member berlin --diff": `(?m)^\+  replicas: 5$`,
		},
	},
	"evictions": {
		path: "../docs/evictions.md",
		says: map[string]string{
			"flotilla evict placement/crp-rolling-update --member tampa":                  `leaves tampa: Eviction is allowed by specified ClusterResourcePlacementDisruptionBudget`,
			"flotilla evict placement/crp-rolling-update --member tampa --dry-run=server": `as all stands: Eviction is allowed`,
			"flotilla drain member dublin --dry-run=server":                               `crp-rolling-update leaves`,
			"flotilla get evictions -o wide":                                              `(?m)^crp-rolling-update-tampa-\w+ +crp-rolling-update +tampa +True +True `,
			"flotilla why placement/crp-rolling-update -m tampa":                          `evicted`,
			"flotilla drain member dublin --timeout 90s":                                  `member/dublin is empty`,
			"flotilla get member dublin -o yaml":                                          `(?s)value: drain.*drain:\s+leaving: 0`,
			"flotilla get disruptionbudgets":                                              `(?m)^crp-rolling-update +- +5 `,
		},
	},
	"guards": {
		path: "../docs/guards.md",
		says: map[string]string{
			"flotilla freeze placements --reason \"the shop has its sale\"": `placements frozen`,
			"flotilla status": `^FROZEN  placements frozen by admin since \S+: the shop has its sale `,
			"flotilla get placement crp-rolling-update -o yaml": `RolloutFrozen`,
			"flotilla unfreeze placements":                      `placements unfrozen`,
			"flotilla unfreeze member dublin":                   `member dublin unfrozen`,
			"flotilla events fleet/placements":                  `Frozen(?s).*Unfrozen`,
		},
	},
	"trace": {
		path: "../docs/trace.md",
		says: map[string]string{
			"flotilla trace placement/crp-rolling-update":                                 `(?s)snapshot 1, by admin, .*; 7 of 7 there.*total +7 .*: took .*reported +\d{4}`,
			"flotilla trace placement/crp-rolling-update --member tampa":                  `release +waits +- +paused by admin since .*: the night shift looks first`,
			"flotilla history placement/crp-rolling-update":                               `(?s)applied +1 +- +admin.*picked berlin.*paused by admin.*snapshot 2 holds.*resumed.*rollout ended.*tampa: was evicted`,
			"flotilla history placement/crp-rolling-update --since -1h --limit 5 -o wide": `(?m)picks +1 +- +scheduler +tampa: was evicted +6 +-$`,
			"flotilla get placement crp-rolling-update --at now":                          `(?s)Generation: +1\nSnapshot: +2\nPicked: +6.*placementType: PickAll`,
			"flotilla rollout history placement/crp-rolling-update":                       `(?m)^2 .* 1 changed$`,
		},
	},
	"checks": {
		path: "../docs/checks.md",
		says: map[string]string{
			"flotilla rollout status placement/teashop --timeout 100s": `rolled out, 3 of 3 current`,
			"flotilla get rolloutchecks":                               `(?m)^available +available +3s +2 +RollBack `,
			"flotilla rollout history placement/teashop":               `(?m)^2 `,
			"flotilla events placement/teashop":                        `(?s)RolloutChecksFailed.*RolloutRolledBack`,
			"flotilla status":                                          `RolloutRolledBack.*snapshot 2 is refused since`,
		},
	},
	"update runs": {
		path: "../docs/updates.md",
		says: map[string]string{
			"flotilla run status first":             `Completed  1/1`,
			"flotilla run status to-1-36-4 --watch": `run to-1-36-4 +Completed`,
			"flotilla get gates":                    `Approval   Pending`,
			"flotilla get runs":                     `auto-stable-full-`,
			"flotilla run generate stable":          `auto-stable-full-`,
			"flotilla windows berlin":               `Europe/Berlin`,
			"flotilla get strategies":               `weekend`,
		},
	},
}

// TestTheGuidesWorkWhenTyped types each guide, line after line, against a fleet as --dev starts it. Every line
// ends well; plan says with its exit code that something would change.
func TestTheGuidesWorkWhenTyped(t *testing.T) {
	programs := build(t)
	for name, g := range guides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := g.typed(t)
			require.Greater(t, len(lines), len(g.says))
			r := reader{fleet: devFleet(t), programs: programs, folder: ".."}
			said := map[string]string{}
			for _, line := range lines {
				command, comment, _ := strings.Cut(line, " #")
				command = strings.TrimSpace(command)
				if strings.Contains(comment, "Ctrl-C") {
					said[command] = r.watch(t, command, g.says[command])
				} else {
					said[command] = r.run(t, command)
				}
			}
			for command, want := range g.says {
				require.Regexp(t, want, said[command], "$ %s", command)
			}
		})
	}
}

// typed are the lines of a guide that ask a hub.
func (g *guide) typed(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(g.path)
	require.NoError(t, err)
	whole := string(text)
	if g.until != "" {
		var found bool
		whole, _, found = strings.Cut(whole, g.until)
		require.True(t, found, g.until)
	}
	var lines []string
	for _, part := range strings.Split(whole, "```sh\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		require.True(t, closed)
		for line := range strings.Lines(block) {
			if strings.Contains(line, "flotilla ") && !strings.HasPrefix(line, "make ") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}

// reader types commands into a shell beside a fleet.
type reader struct {
	fleet    *dev.Fleet
	programs string
	folder   string // where lines are typed
}

func (r *reader) shell(ctx context.Context, line string) *exec.Cmd {
	shell := exec.CommandContext(ctx, "sh", "-c", line)
	shell.Dir = r.folder
	shell.Env = append(os.Environ(), "PATH="+r.programs+string(os.PathListSeparator)+os.Getenv("PATH"), "NATS_CONTEXT=", "FLOTILLA_FLEET=",
		"NATS_URL="+r.fleet.Hub.Server().URL(), "NATS_CREDS="+r.fleet.Hub.Server().OperatorCreds())
	shell.WaitDelay = time.Second // a child of the shell may hold its output open
	return shell
}

func (r *reader) run(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	shell := r.shell(ctx, line)
	out, err := shell.CombinedOutput()
	require.Contains(t, endings(line), shell.ProcessState.ExitCode(), "$ %s\n%s%v", line, out, err)
	return string(out)
}

// endings are the exit codes that a command may end with: what would change is shown by a plan, but for nodes
// that go already; a run that is followed until Ctrl-C goes on, unless it has ended.
func endings(line string) []int {
	switch {
	case strings.Contains(line, "plan nodes"):
		return []int{0, 1}
	case strings.Contains(line, "run status"):
		return []int{0, 124}
	case strings.Contains(line, "plan --render"):
		return []int{0}
	case strings.Contains(line, "flotilla plan"):
		return []int{1}
	}
	return []int{0}
}

// watch runs a command until it has shown something, and then interrupts it.
func (r *reader) watch(t *testing.T, line, until string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shown")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	shell := r.shell(t.Context(), "exec "+line)
	shell.Stdout, shell.Stderr = file, file
	require.NoError(t, shell.Start())
	shown := func() string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	bustest.EventuallyIn(t, 2*time.Minute, func() error {
		if text := shown(); !regexp.MustCompile(until).MatchString(text) {
			return fmt.Errorf("$ %s\n%s", line, text)
		}
		return nil
	})
	require.NoError(t, shell.Process.Signal(os.Interrupt))
	err = shell.Wait()
	require.Contains(t, endings(line), shell.ProcessState.ExitCode(), "$ %s\n%s%v", line, shown(), err)
	return shown()
}

// devFleet is the fleet of --dev, its upgrades and disruptions quickened.
func devFleet(t *testing.T) *dev.Fleet {
	t.Helper()
	members, err := dev.ExampleMembers()
	require.NoError(t, err)
	for i := range members {
		members[i].Nodes.Interval, members[i].Nodes.LeastDrain = configs.Duration(10*time.Millisecond), configs.Duration(10*time.Millisecond)
		members[i].Upgrade.Memory.ControlPlane = configs.Duration(200 * time.Millisecond)
		members[i].Upgrade.Memory.NodePool = configs.Duration(200 * time.Millisecond)
	}
	quick := configs.Disruption{Enabled: true, Interval: configs.Duration(100 * time.Millisecond), ValidationWait: configs.Duration(time.Second)}
	fleet, err := dev.Start(t.Context(), dev.Options{
		Hub: hubd.Options{Server: &server.Options{Dir: t.TempDir(), Port: -1}, Log: zerolog.Nop(), Now: elsewhen.Now, Policy: hubd.Policy{Disruption: quick}}, Members: members, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	require.NoError(t, fleet.AdmitExamples(t.Context()))
	bustest.Eventually(t, func() error {
		var answer api.ListResponse
		if err := bus.Request(t.Context(), fleet.Client, api.VerbList, api.ListRequest{Kind: api.KindMemberCluster}, &answer, bus.RequestOptions{}); err != nil {
			return err
		}
		ready := 0
		for _, item := range answer.Items {
			var m api.MemberCluster
			if err := json.Unmarshal(item, &m); err != nil {
				return err
			}
			if m.Status != nil && m.Status.State == api.MemberReady && m.Status.Inventory != nil {
				ready++
			}
		}
		if ready != len(members) {
			return fmt.Errorf("%d members of %d are ready, with their inventory", ready, len(members))
		}
		return nil
	})
	return fleet
}
