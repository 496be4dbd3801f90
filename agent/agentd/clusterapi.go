package agentd

import (
	"cmp"
	"context"
	"fmt"

	"flotilla/agent/management"
	"flotilla/agent/nodes"
	"flotilla/agent/nodes/clusterapi"
	"flotilla/agent/target/kube"
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
		return management.Open(own.Config, m.Namespace, name)
	}
	config, namespace, err := management.Load(m.Kubeconfig, m.Context)
	if err != nil {
		return nil, fmt.Errorf("clusterAPI.kubeconfig: %w", err)
	}
	return management.Open(config, cmp.Or(m.Namespace, namespace), name)
}

// machinesByClusterAPI scales MachineDeployments. What is wrong with the way to them is said as soon as the agent starts.
func machinesByClusterAPI(a *Agent) (nodes.Provider, error) {
	cluster, is := a.target.(*kube.Target)
	if !is {
		return nil, errNoCluster(configs.ProviderClusterAPI)
	}
	view, err := a.toManagement()
	if err != nil {
		return nil, err
	}
	a.run(func(ctx context.Context) error {
		if err := view.Check(ctx); err != nil && ctx.Err() == nil {
			a.o.Log.Error().Err(err).Msg("nodes are not replaced before this is mended")
		}
		return nil
	})
	return clusterapi.New(clusterapi.Options{View: view, Member: cluster.Objects(), Now: a.o.Now}), nil
}
