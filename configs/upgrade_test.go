package configs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestUpgradeReportsEveryFault(t *testing.T) {
	_, err := LoadAgent("agent.yaml", []byte(`
member: berlin
target:
  memory:
    kubernetesVersion: "1.36"
    nodes:
    - {name: a, cpu: "4", memory: 16Gi, pool: {name: np1, mode: Both, osType: BSD, image: ubuntu, kubernetesVersion: new}}
    - {name: b, cpu: "4", memory: 16Gi, pool: {name: np1, mode: User}}
    - {name: c, cpu: "4", memory: 16Gi, pool: {name: np1}}
maintenance:
  aksManagedAutoUpgradeSchedule: {schedule: {daily: {intervalDays: 1}}, durationHours: 2, startTime: "02:00", timeZone: Mars/Base}
upgrade:
  driver: magic
  memory: {controlPlane: -1s, nodePool: soon, images: [ubuntu]}
  exec: {inventory: [""], environment: {FLOTILLA_RUN: x, "a b": z}, timeout: 0s, grace: 2h}
  clusterAPI: {deadline: 0s, interval: 2h}
  checks: {nodesReady: 101, settle: 0s}
`))
	requireFaults(t, err, []string{
		`agent.yaml: upgrade.memory.nodePool: found "soon", expected a duration, like "15s" or "5m"`,
		`agent.yaml: target.memory.kubernetesVersion: found "1.36", expected a version, like "v1.36.3"`,
		`agent.yaml: target.memory.nodes[0].pool.mode: found "Both", expected one of System, User`,
		`agent.yaml: target.memory.nodes[0].pool.osType: found "BSD", expected one of Linux, Windows`,
		`agent.yaml: target.memory.nodes[0].pool.image: found "ubuntu", expected the full name of an image`,
		`agent.yaml: target.memory.nodes[0].pool.kubernetesVersion: found "new", expected a version, like "v1.36.3"`,
		`agent.yaml: target.memory.nodes[1].pool: found "np1" described again in another way, expected its name alone after its first entry`,
		`agent.yaml: maintenance.aksManagedAutoUpgradeSchedule.durationHours: found 2, expected 4 to 24 hours, always stated`,
		`agent.yaml: maintenance.aksManagedAutoUpgradeSchedule.timeZone: found "Mars/Base", expected the IANA name of a zone`,
		`agent.yaml: upgrade.driver: found "magic", expected one of memory, exec`,
		`agent.yaml: upgrade.memory.controlPlane: found "-1s", expected a duration from 0s to 24h0m0s`,
		`agent.yaml: upgrade.memory.images[0]: found "ubuntu", expected the full name of an image`,
		`agent.yaml: upgrade.exec.inventory[0]: found nothing, expected the path or the name of a program`,
		`agent.yaml: upgrade.exec.environment["FLOTILLA_RUN"]: found "FLOTILLA_RUN", expected a name that does not begin with FLOTILLA_`,
		`agent.yaml: upgrade.exec.environment["a b"]: found "a b", expected the name of a variable`,
		`agent.yaml: upgrade.exec.timeout: found "0s", expected a duration from 1s to 168h0m0s`,
		`agent.yaml: upgrade.exec.grace: found "2h0m0s", expected a duration from 0s to 1h0m0s`,
		`agent.yaml: upgrade.clusterAPI.deadline: found "0s", expected a duration from 1s to 168h0m0s`,
		`agent.yaml: upgrade.clusterAPI.interval: found "2h0m0s", expected a duration from 1ms to 1h0m0s`,
		`agent.yaml: upgrade.checks.nodesReady: found 101, expected percent of the nodes, from 1 to 100`,
		`agent.yaml: upgrade.checks.settle: found "0s", expected a duration from 1s to 24h0m0s`,
	})
	_, err = LoadAgent("agent.yaml", []byte("member: berlin\nupgrade: {driver: exec}\n"))
	requireFaults(t, err, []string{`agent.yaml: upgrade.exec.command: found nothing, expected a command and its arguments, because upgrade.driver is exec`})
}

func TestUpgradeByCommand(t *testing.T) {
	a, err := LoadAgent("agent.yaml", []byte(`
member: berlin
clusterResourceID: /clusters/berlin
target: {memory: {nodes: [{name: a, cpu: "4", memory: 16Gi}, {name: b, cpu: "4", memory: 16Gi, pool: {name: a}}]}}
maintenance: {default: {schedule: {weekly: {intervalWeeks: 1, dayOfWeek: Friday}}, durationHours: 4, startTime: "02:00"}}
upgrade: {driver: exec, exec: {command: [./upgrade, --now], environment: {KUBECONFIG: x}, timeout: 30m}}
`))
	require.NoError(t, err)
	want := DefaultUpgrade()
	want.Driver = DriverExec
	want.Exec.Command, want.Exec.Environment, want.Exec.Timeout = []string{"./upgrade", "--now"}, map[string]string{"KUBECONFIG": "x"}, Duration(30*time.Minute)
	require.Equal(t, want, a.Upgrade)
	require.Equal(t, "/clusters/berlin", a.ClusterResourceID)
	require.Equal(t, &api.MaintenanceWindow{
		Schedule: api.MaintenanceSchedule{Weekly: &api.WeeklySchedule{IntervalWeeks: 1, DayOfWeek: "Friday"}}, DurationHours: 4, StartTime: "02:00",
	}, a.Maintenance.Default)
	require.Equal(t, "a", a.Target.Memory.Nodes[0].PoolName())
	require.Equal(t, "a", a.Target.Memory.Nodes[1].PoolName())
}
