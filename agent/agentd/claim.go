package agentd

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"flotilla/agent/target/kube"
	"flotilla/agent/upgrader"
	"flotilla/bus/loop"
	"flotilla/bus/member"
	"flotilla/core/api"
)

// oursAgain is how soon it is looked again whether a cluster is the member's own.
const oursAgain = 5 * time.Second

// clusterFile is where an agent remembers which cluster its member is, beside its keys.
const clusterFile = "cluster.json"

// claim is whose member the cluster has to be, and which one: the one that the configuration names, or that the agent worked on before.
// It is nil where the configuration says that others work on the cluster too.
func (a *Agent) claim() (*kube.Claim, error) {
	c := &a.o.Config
	if c.Target.Kubernetes.Shared {
		return nil, nil
	}
	vault, err := Vault(c, a.o.Pod)
	if err != nil {
		return nil, err
	}
	known, err := readKnown(vault)
	if err != nil {
		return nil, fmt.Errorf("reading which cluster the member is, %s of %s: %w; where it is the right one, remove that", clusterFile, vault, err)
	}
	if named := c.Target.Kubernetes.Cluster; named != "" && named != known.UID {
		known = kube.Known{UID: named}
	}
	return &kube.Claim{Fleet: c.Fleet, Member: c.Member, Account: a.account, Known: known, Now: a.o.Now, Remember: func(now kube.Known) error {
		text, err := json.Marshal(now)
		if err == nil {
			err = vault.Write(clusterFile, text)
		}
		if err != nil {
			a.o.Log.Warn().Err(err).Msg("which cluster the member is could not be kept; trying again")
		}
		return err
	}}, nil
}

func readKnown(vault member.Vault) (known kube.Known, err error) {
	text, err := vault.Read(clusterFile)
	if err != nil || text == nil {
		return known, err
	}
	return known, json.Unmarshal(text, &known)
}

// account is that of the fleet which the agent's credentials are of; empty where nothing says it.
func (a *Agent) account() (string, error) {
	o := a.o.bus(a.wallet)
	if !o.ByWallet() {
		return o.Account()
	}
	account, enrolled := a.wallet.Account()
	if !enrolled {
		return "", kube.ErrNotEnrolled
	}
	return account, nil
}

// ours is nil once the cluster is seen to be the member's own; a member that is none cannot be taken for another.
func (a *Agent) ours(ctx context.Context) error {
	if cluster, is := a.target.(*kube.Target); is {
		return cluster.Ours(ctx)
	}
	return nil
}

// untilOurs waits until the cluster is seen to be the member's own, or ctx ends. It is for what changes the member by other ways than the
// target, which looks itself. The error is that of ctx.
func (a *Agent) untilOurs(ctx context.Context) error {
	for a.ours(ctx) != nil {
		if !loop.Pause(ctx, loop.Spread(oursAgain)) {
			return ctx.Err()
		}
	}
	return nil
}

// ownDriver carries out upgrades once the cluster is seen to be the member's own.
type ownDriver struct {
	upgrader.Driver
	agent *Agent
}

// Run is that of upgrader.Driver.
func (d ownDriver) Run(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	if err := d.agent.untilOurs(ctx); err != nil {
		return api.UpgradeResult{}, true, err
	}
	return d.Driver.Run(ctx, op, report)
}

// Resume is that of upgrader.Driver.
func (d ownDriver) Resume(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	if err := d.agent.untilOurs(ctx); err != nil {
		return api.UpgradeResult{}, true, err
	}
	return d.Driver.Resume(ctx, op, report)
}
