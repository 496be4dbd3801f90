package configs

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"flotilla/core/api"
	"flotilla/core/validate/upgrades"
)

// Drivers that upgrade a member.
const (
	DriverMemory     = "memory"
	DriverExec       = "exec"
	DriverClusterAPI = "clusterapi"
	DriverNone       = "none"
)

// Upgrade says how the member is upgraded when an update run asks for it.
type Upgrade struct {
	// Driver is memory, for a member in memory, exec, clusterapi, for one that Cluster API looks after, or none, for a
	// member that others upgrade; empty is memory for a member in memory, and none for another.
	Driver     string            `json:"driver,omitempty"`
	Memory     UpgradeMemory     `json:"memory,omitzero"`
	Exec       UpgradeExec       `json:"exec,omitzero"`
	ClusterAPI UpgradeClusterAPI `json:"clusterAPI,omitzero"`
	Checks     UpgradeChecks     `json:"checks,omitzero"`
	// LongTermSupport says that the member is on a long term support plan.
	LongTermSupport bool `json:"longTermSupport,omitempty"`
}

// UpgradeMemory is how a member in memory is upgraded.
type UpgradeMemory struct {
	// ControlPlane is how long the control plane takes, NodePool how long each node pool.
	ControlPlane Duration `json:"controlPlane,omitempty"`
	NodePool     Duration `json:"nodePool,omitempty"`
	// Images are the newest that are offered, by full name, one of each family.
	Images []string `json:"images,omitempty"`
}

// UpgradeExec is a command that upgrades the member. It gets the operation as JSON on its standard
// input and in variables FLOTILLA_*; its exit code is the result.
type UpgradeExec struct {
	// Command and its arguments; not read by a shell.
	Command []string `json:"command,omitempty"`
	// Inventory prints what the command's provider knows of the member, a MemberInventory as JSON;
	// empty when the API server says enough.
	Inventory []string `json:"inventory,omitempty"`
	// Environment is added to that of the agent.
	Environment map[string]string `json:"environment,omitempty"`
	// Directory they run in, the agent's when empty.
	Directory string `json:"directory,omitempty"`
	// Timeout ends the command, and all it started, when it takes longer.
	Timeout Duration `json:"timeout,omitempty"`
	// Grace is how long it may take to end by itself when it is told to.
	Grace Duration `json:"grace,omitempty"`
}

// UpgradeClusterAPI is how Cluster API upgrades the member.
type UpgradeClusterAPI struct {
	// Deadline is how long nothing may move in its objects until the operation has failed.
	Deadline Duration `json:"deadline,omitempty"`
	// Interval is how long it is between two looks at them.
	Interval Duration `json:"interval,omitempty"`
}

// UpgradeChecks are what the member must be like before and after an upgrade.
type UpgradeChecks struct {
	// NodesReady is how many percent of the nodes must be ready.
	NodesReady int `json:"nodesReady,omitempty"`
	// Settle is how long the member may take after an upgrade until all is well.
	Settle Duration `json:"settle,omitempty"`
}

// DefaultUpgrade is how a member is upgraded by an agent that was told nothing.
func DefaultUpgrade() Upgrade {
	return Upgrade{
		Memory: UpgradeMemory{
			ControlPlane: Duration(3 * time.Second), NodePool: Duration(2 * time.Second),
			Images: []string{"AKSUbuntu-2204gen2containerd-202401.17.1"},
		},
		Exec:       UpgradeExec{Timeout: Duration(4 * time.Hour), Grace: Duration(30 * time.Second)},
		ClusterAPI: UpgradeClusterAPI{Deadline: Duration(30 * time.Minute), Interval: Duration(5 * time.Second)},
		Checks:     UpgradeChecks{NodesReady: 90, Settle: Duration(2 * time.Minute)},
	}
}

var (
	versionPattern  = regexp.MustCompile(`^v?\d+\.\d+\.\d+$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (c *checks) version(path, version string) {
	c.unless(versionPattern.MatchString(version), path, strconv.Quote(version), `a version, like "v1.36.3"`)
}

func (c *checks) image(path, image string) {
	_, _, ok := api.NodeImageFamily(image)
	c.unless(ok, path, strconv.Quote(image), `the full name of an image, like "AKSUbuntu-2204gen2containerd-202401.09.0"`)
}

func (c *checks) maintenance(m *api.MaintenanceConfiguration) {
	if m == nil {
		return
	}
	known := func(zone string) bool { _, err := time.LoadLocation(zone); return err == nil }
	for _, w := range []struct {
		name   string
		window *api.MaintenanceWindow
	}{
		{"aksManagedAutoUpgradeSchedule", m.AutoUpgrade}, {"aksManagedNodeOSUpgradeSchedule", m.NodeOSUpgrade}, {"default", m.Default},
	} {
		if w.window != nil {
			c.faults = append(c.faults, upgrades.MaintenanceWindow("maintenance."+w.name, w.window, known)...)
		}
	}
}

func (c *checks) upgrade(u *Upgrade) {
	c.optional("upgrade.driver", u.Driver, DriverMemory, DriverExec, DriverClusterAPI, DriverNone)
	c.positive("upgrade.memory.controlPlane", u.Memory.ControlPlane, 0, Duration(24*time.Hour))
	c.positive("upgrade.memory.nodePool", u.Memory.NodePool, 0, Duration(24*time.Hour))
	for i, image := range u.Memory.Images {
		c.image(fmt.Sprintf("upgrade.memory.images[%d]", i), image)
	}
	why := ""
	if u.Driver == DriverExec {
		why = "upgrade.driver is exec"
	}
	c.command("upgrade.exec.command", u.Exec.Command, why)
	c.command("upgrade.exec.inventory", u.Exec.Inventory, "")
	c.environment("upgrade.exec.environment", u.Exec.Environment)
	c.positive("upgrade.exec.timeout", u.Exec.Timeout, Duration(time.Second), Duration(7*24*time.Hour))
	c.positive("upgrade.exec.grace", u.Exec.Grace, 0, Duration(time.Hour))
	c.positive("upgrade.clusterAPI.deadline", u.ClusterAPI.Deadline, Duration(time.Second), Duration(7*24*time.Hour))
	c.positive("upgrade.clusterAPI.interval", u.ClusterAPI.Interval, Duration(time.Millisecond), Duration(time.Hour))
	ready := u.Checks.NodesReady
	c.unless(ready >= 1 && ready <= 100, "upgrade.checks.nodesReady", strconv.Itoa(ready), "percent of the nodes, from 1 to 100")
	c.positive("upgrade.checks.settle", u.Checks.Settle, Duration(time.Second), Duration(24*time.Hour))
}

// command checks a command and its arguments; why says what makes it needed, empty when nothing does.
func (c *checks) command(path string, command []string, why string) {
	c.unless(len(command) > 0 || why == "", path, "nothing", "a command and its arguments, because "+why)
	c.unless(len(command) == 0 || command[0] != "", path+"[0]", "nothing", "the path or the name of a program")
}

// pools checks what the entries of nodes say of their node pools.
func (c *checks) pools(nodes []Nodes) {
	first := map[string]NodePool{}
	for i := range nodes {
		pool, name := nodes[i].Pool, nodes[i].PoolName()
		at := fmt.Sprintf("target.memory.nodes[%d].pool", i)
		c.optional(at+".mode", pool.Mode, "System", "User")
		c.optional(at+".osType", pool.OSType, "Linux", "Windows")
		if pool.Image != "" {
			c.image(at+".image", pool.Image)
		}
		if pool.KubernetesVersion != "" {
			c.version(at+".kubernetesVersion", pool.KubernetesVersion)
		}
		pool.Name = ""
		was, again := first[name]
		if !again {
			first[name] = pool
			continue
		}
		c.unless(pool == (NodePool{}) || pool == was, at, strconv.Quote(name)+" described again in another way", "its name alone after its first entry")
	}
}

// optional checks a choice that may be left out.
func (c *checks) optional(path, value string, words ...string) {
	if value != "" {
		c.choice(path, value, words)
	}
}
