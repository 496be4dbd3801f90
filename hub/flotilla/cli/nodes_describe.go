package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// describeNode shows a node with its pods, and why it goes or stays.
func (a *app) describeNode(ctx context.Context, obj *unstructured.Unstructured) error {
	var pods []api.PodState
	view{object: obj}.readInto(&pods, "status", "podStates")
	unstructured.RemoveNestedField(obj.Object, "status", "podStates")
	for _, field := range []string{"allocatable", "requested"} {
		quantities(obj, "status", field)
	}
	a.printf("%s", describeObject(obj))
	if err := a.printPods(pods); err != nil {
		return err
	}
	var answer disruption.NodeAnswer
	if err := a.call(ctx, api.VerbWhyNode, api.WhyNodeRequest{Member: memberOf(obj), Node: obj.GetName()}, &answer); err != nil {
		return err
	}
	a.printf("Disruption:\n")
	a.printNodeAnswer(&answer)
	return nil
}

// quantities shows amounts as Kubernetes does, "3900m" and "16Gi".
func quantities(obj *unstructured.Unstructured, path ...string) {
	var amounts api.Amounts
	if !(view{object: obj}).readInto(&amounts, path...) {
		return
	}
	shown := map[string]any{}
	for name, n := range amounts {
		q := resource.NewQuantity(n, resource.BinarySI)
		if name == "cpu" {
			q = resource.NewMilliQuantity(n, resource.DecimalSI)
		}
		shown[name] = q.String()
	}
	// The only error is that of a path that leads through what is no map.
	_ = unstructured.SetNestedMap(obj.Object, shown, path...)
}

func (a *app) printPods(pods []api.PodState) error {
	if len(pods) == 0 {
		a.printf("Pods:  <none>\n")
		return nil
	}
	a.printf("Pods:\n")
	w := tabwriter.NewWriter(a.Out, 0, 8, 2, ' ', 0)
	say(w, "  Namespace\tName\tCPU\tMemory\tOwner\tPhase\tAge\n")
	for i := range pods {
		p := &pods[i]
		owner := orDash(p.Owner)
		if p.OwnerName != "" {
			owner += "/" + p.OwnerName
		}
		phase := orDash(p.Phase)
		if p.Terminating {
			phase = "Terminating"
		}
		say(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Namespace, p.Name, cores(fmt.Sprintf("%dm", p.Requests["cpu"])),
			gibibytes(fmt.Sprint(p.Requests["memory"])), owner, phase, since(a.Now(), p.Created.Time))
	}
	return w.Flush()
}
