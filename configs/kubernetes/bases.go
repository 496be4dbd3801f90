package kubernetes

import (
	"fmt"
	"path"
	"strings"
)

// head opens what is generated.
const head = "# Made by `go generate ./configs/kubernetes` of the templates of configs/kubernetes/%s; change those.\n"

// base is a folder that kustomize builds from.
type base struct {
	chart, namespace string
	values           map[string]any
}

// bases are the kustomize bases by the names of their folders: an agent, a hub with a server of its own, hubs on servers
// of somebody's own, whose overlay names the servers, and what agents may do on a management cluster, whose overlay names
// the namespace of the Clusters.
var bases = map[string]base{
	"agent":      {Agent, DefaultNamespace, map[string]any{"createNamespace": true}},
	"hub":        {Hub, DefaultNamespace, map[string]any{"createNamespace": true}},
	"hub-nats":   {Hub, DefaultNamespace, map[string]any{"createNamespace": true, "natsURL": "nats://nats:4222"}},
	"management": {Management, "default", nil},
}

// Bases are the files of the kustomize bases by their paths, "agent/kustomization.yaml".
func Bases() (map[string]string, error) {
	all := map[string]string{}
	for name, b := range bases {
		files, err := Render(b.chart, b.namespace, b.values)
		if err != nil {
			return nil, err
		}
		lines := []string{fmt.Sprintf(head, b.chart) + "apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization", "resources:"}
		for _, f := range files {
			all[path.Join(name, f.Name)] = fmt.Sprintf(head, b.chart) + f.Text
			lines = append(lines, "- "+f.Name)
		}
		all[path.Join(name, "kustomization.yaml")] = strings.Join(lines, "\n") + "\n"
	}
	return all, nil
}
