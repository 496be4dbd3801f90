package agentd

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"flotilla/agent/management"
	"flotilla/agent/nodes"
	machines "flotilla/agent/nodes/clusterapi"
	"flotilla/agent/target/kube"
	"flotilla/agent/upgrader"
	versions "flotilla/agent/upgrader/clusterapi"
	"flotilla/configs"
)

// errNoCluster says that what is called so is only for members that are Kubernetes clusters.
func errNoCluster(found string) error {
	return fmt.Errorf("found %q, expected another, because the member is not a Kubernetes cluster", found)
}

// toManagement is the way that the configuration names.
func (a *Agent) toManagement() (*management.View, error) {
	m := &a.o.Config.ClusterAPI
	name := cmp.Or(m.Cluster, a.Member())
	if m.Kubeconfig == "" {
		own, err := asMember(&a.o)
		if err != nil {
			return nil, err
		}
		if cluster, is := a.target.(*kube.Target); is {
			if own.Config, err = cluster.Guarded(own.Config); err != nil {
				return nil, err
			}
		}
		return management.Open(own.Config, m.Namespace, name)
	}
	config, namespace, err := management.Load(m.Kubeconfig, m.Context)
	if err != nil {
		return nil, fmt.Errorf("clusterAPI.kubeconfig: %w", err)
	}
	return management.Open(config, cmp.Or(m.Namespace, namespace), name)
}

// checkManagement says what is wrong with the way to the management cluster as soon as the agent starts, and what it
// keeps from being done.
func (a *Agent) checkManagement(check func(context.Context) error, kept string) {
	a.run(func(ctx context.Context) error {
		if err := check(ctx); err != nil && ctx.Err() == nil {
			a.o.Log.Error().Err(err).Msg(kept + " before this is mended")
		}
		return nil
	})
}

// machinesByClusterAPI scales MachineDeployments.
func machinesByClusterAPI(a *Agent) (nodes.Provider, error) {
	cluster, is := a.target.(*kube.Target)
	if !is {
		return nil, errNoCluster(configs.ProviderClusterAPI)
	}
	view, err := a.toManagement()
	if err != nil {
		return nil, err
	}
	a.checkManagement(view.Check, "nodes are not replaced")
	return machines.New(machines.Options{View: view, Member: cluster.Objects(), Now: a.o.Now}), nil
}

// upgradesByClusterAPI changes versions.
func upgradesByClusterAPI(a *Agent) (upgrader.Driver, error) {
	if _, is := a.target.(*kube.Target); !is {
		return nil, errNoCluster(configs.DriverClusterAPI)
	}
	view, err := a.toManagement()
	if err != nil {
		return nil, err
	}
	c := &a.o.Config.Upgrade.ClusterAPI
	driver := versions.New(versions.Options{View: view, Deadline: time.Duration(c.Deadline), LookEvery: time.Duration(c.Interval), Now: a.o.Now})
	a.checkManagement(driver.Check, "the member is not upgraded")
	return driver, nil
}
