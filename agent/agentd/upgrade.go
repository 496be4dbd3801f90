package agentd

import (
	"fmt"
	"path/filepath"
	"time"

	"flotilla/agent/target/memory/provision"
	"flotilla/agent/upgrader"
	"flotilla/agent/upgrader/command"
	"flotilla/agent/upgrader/memory"
	"flotilla/agent/upgrader/none"
	"flotilla/bus/member"
	"flotilla/configs"
	"flotilla/core/api"
)

// upgrader makes what carries out upgrades, with the driver that the configuration names.
func (a *Agent) upgrader(conn *member.Conn) (*upgrader.Upgrader, error) {
	driver, err := a.driver()
	if err != nil {
		return nil, err
	}
	c := &a.o.Config
	return upgrader.New(upgrader.Options{
		Member: a.Member(), Hub: conn, Target: a.target, Driver: ownDriver{driver, a}, Ours: a.ours, Data: c.DataDir, PollEvery: a.o.PollEvery,
		Facts: api.MemberInventory{
			ClusterResourceID: c.ClusterResourceID, Region: c.Location, LongTermSupport: c.Upgrade.LongTermSupport, Maintenance: c.Maintenance,
		},
		Checks: upgrader.Checks{NodesReady: c.Upgrade.Checks.NodesReady, Settle: time.Duration(c.Upgrade.Checks.Settle)},
		Log:    a.o.Log,
	})
}

// drivers make what upgrades a member, by upgrade.driver.
var drivers = map[string]func(*Agent) (upgrader.Driver, error){
	configs.DriverMemory:     upgradesInMemory,
	configs.DriverExec:       upgradesByCommand,
	configs.DriverClusterAPI: upgradesByClusterAPI,
	configs.DriverNone:       func(*Agent) (upgrader.Driver, error) { return none.Driver{}, nil },
}

func (a *Agent) driver() (upgrader.Driver, error) {
	kind := a.o.Config.Upgrade.Driver
	switch {
	case kind == "" && a.memory != nil:
		kind = configs.DriverMemory
	case kind == "":
		kind = configs.DriverNone
	}
	made, err := drivers[kind](a)
	if err != nil {
		return nil, fmt.Errorf("upgrade.driver: %w", err)
	}
	return made, nil
}

// errNotInMemory says that what is called memory is only for members in memory.
func errNotInMemory() error {
	return fmt.Errorf("found %q, expected another, because the member is not one in memory", configs.TargetMemory)
}

func upgradesInMemory(a *Agent) (upgrader.Driver, error) {
	if a.memory == nil {
		return nil, errNotInMemory()
	}
	m := &a.o.Config.Upgrade.Memory
	return memory.New(a.memory, provision.Pace{
		ControlPlane: time.Duration(m.ControlPlane), NodePool: time.Duration(m.NodePool), Images: m.Images,
	}), nil
}

func upgradesByCommand(a *Agent) (upgrader.Driver, error) {
	if a.o.Supervisor == "" {
		return nil, fmt.Errorf("%s needs the agent's own program: go run ./agent --member %s", configs.DriverExec, a.Member())
	}
	c := &a.o.Config.Upgrade.Exec
	return command.New(command.Options{
		Dir: filepath.Join(a.o.Config.DataDir, "upgrades", "commands"), Program: a.o.Supervisor, Member: a.Member(),
		Command: c.Command, Inventory: c.Inventory, Environment: c.Environment, Directory: c.Directory,
		Timeout: time.Duration(c.Timeout), Grace: time.Duration(c.Grace),
	})
}
