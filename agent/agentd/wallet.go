package agentd

import (
	"cmp"
	"fmt"

	"flotilla/agent/pod"
	"flotilla/bus/member"
	"flotilla/configs"
)

// Vault is where an agent keeps how it proves who it is: a Secret of the pod it runs in, or its data directory where it
// runs in none (p is nil).
func Vault(c *configs.Agent, p *pod.Pod) (member.Vault, error) {
	if p == nil {
		return member.Folder(c.DataDir), nil
	}
	return p.Secret(cmp.Or(c.Pod.Secret, configs.DefaultAgent().Pod.Secret))
}

// openWallet opens how the agent proves who it is, and goes by the fleet that this was made for.
func (a *Agent) openWallet() error {
	c := &a.o.Config
	vault, err := Vault(c, a.o.Pod)
	if err != nil {
		return err
	}
	wallet, err := member.OpenWallet(vault, a.o.Token)
	if err != nil || wallet == nil {
		return err
	}
	if wallet.Member() != c.Member {
		return fmt.Errorf("member: found %s, expected %s, for which the agent was enrolled: leave out --member, or give each its own folder with --data", c.Member, wallet.Member())
	}
	if c.Fleet == configs.DefaultAgent().Fleet {
		c.Fleet = wallet.Fleet()
	}
	if wallet.Fleet() != c.Fleet {
		return fmt.Errorf("fleet: found %s, expected %s, in which the agent was enrolled: leave out --fleet, or enrol in the other one", c.Fleet, wallet.Fleet())
	}
	a.wallet = wallet
	return nil
}
