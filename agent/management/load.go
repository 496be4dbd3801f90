package management

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Limits of the agent's own on what it asks of a management cluster, which many agents share.
const (
	requestsPerSecond = 10
	burst             = 30
)

// Load reads a kubeconfig, and one of its contexts (empty: its current one): who the agent is to the management cluster,
// and the namespace of the context.
func Load(kubeconfig, context string) (*rest.Config, string, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	namespace, _, err := loaded.Namespace()
	return config, namespace, err
}

// Open returns the view of a Cluster; nothing is asked yet. An empty namespace is "default".
func Open(config *rest.Config, namespace, cluster string) (*View, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.UserAgent = requestsPerSecond, burst, "flotilla-agent"
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("speaking to %s: %w", config.Host, err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("speaking to %s: %w", config.Host, err)
	}
	return New(Options{
		Objects: objects, Kinds: kinds, Host: config.Host, Namespace: cmp.Or(namespace, metav1.NamespaceDefault), Cluster: cluster,
	}), nil
}
