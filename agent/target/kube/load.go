package kube

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Load reads who the agent is to which API server: from a kubeconfig and one of its contexts (empty: its current
// one), or, without a kubeconfig, from the service account of the pod the agent runs in.
func Load(kubeconfig, context string) (*rest.Config, error) {
	if kubeconfig == "" {
		if context != "" {
			return nil, fmt.Errorf("a context (%s) needs a kubeconfig", context)
		}
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("the agent does not run in a pod: name a kubeconfig, --kubeconfig FILE or target.kubernetes.kubeconfig")
		}
		return config, err
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	return config, nil
}
