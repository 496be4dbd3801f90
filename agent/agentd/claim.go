package agentd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"flotilla/agent/disk"
	"flotilla/agent/target/kube"
	"flotilla/agent/upgrader"
	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/configs/files"
	"flotilla/core/api"
)

// oursAgain is how soon it is looked again whether a cluster is the member's own.
const oursAgain = 5 * time.Second

// claim is whose member the cluster has to be, and which one: the one that the configuration names, or that the agent worked on before.
// It is nil where the configuration says that others work on the cluster too.
func (a *Agent) claim() (*kube.Claim, error) {
	c := &a.o.Config
	if c.Target.Kubernetes.Shared {
		return nil, nil
	}
	path := filepath.Join(c.DataDir, "cluster.json")
	var known kube.Known
	if err := disk.Read(path, &known); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("which cluster the member is: %w", err)
	}
	if named := c.Target.Kubernetes.Cluster; named != "" && named != known.UID {
		known = kube.Known{UID: named}
	}
	return &kube.Claim{Fleet: c.Fleet, Member: c.Member, Account: a.account, Known: known, Now: a.o.Now, Remember: func(now kube.Known) error {
		if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
			return err
		}
		return disk.Write(path, now)
	}}, nil
}

// account is that of the fleet which the agent's credentials are of; empty where a NATS context names them, or nothing does.
func (a *Agent) account() (string, error) {
	if text := a.o.CredsText; len(text) > 0 {
		return bus.AccountOf(text)
	}
	path := a.o.Config.Bus.Creds
	if a.wallet == nil {
		path = cmp.Or(path, os.Getenv("NATS_CREDS"))
	}
	if path != "" {
		text, err := files.Read(path, files.Small)
		if err != nil {
			return "", err
		}
		return bus.AccountOf(text)
	}
	if a.wallet == nil {
		return "", nil
	}
	account, enrolled := a.wallet.Account()
	if !enrolled {
		return "", kube.ErrNotEnrolled
	}
	return account, nil
}

// untilOurs waits until the cluster is seen to be the member's own, or ctx ends. It is for what changes the member by other ways than the
// target, which looks itself. The error is that of ctx.
func (a *Agent) untilOurs(ctx context.Context) error {
	cluster, is := a.target.(interface{ Ours(context.Context) error })
	if !is {
		return nil
	}
	for cluster.Ours(ctx) != nil {
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
