package nodes

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/explain"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"
)

// DescribeNode shows a node with its pods, and why it goes or stays.
func (a Commands) DescribeNode(ctx context.Context, obj *unstructured.Unstructured) error {
	node := resource.Into[api.MemberNode](obj)
	unstructured.RemoveNestedField(obj.Object, "status", "podStates")
	quantities(obj, node.Status.Allocatable, "status", "allocatable")
	quantities(obj, node.Status.Requested, "status", "requested")
	a.Printf("%s", show.DescribeObject(obj))
	if err := a.printPods(node.Status.PodStates); err != nil {
		return err
	}
	var answer explain.NodeAnswer
	if err := a.Call(ctx, api.VerbWhyNode, api.WhyNodeRequest{Member: resource.MemberOf(obj), Node: obj.GetName()}, &answer); err != nil {
		return err
	}
	a.Printf("Disruption:\n")
	a.printNodeAnswer(&answer)
	return nil
}

// DescribeDisruption shows a disruption with the way of each pod; -o yaml also has the instance types that a
// launch was offered.
func (a Commands) DescribeDisruption(obj *unstructured.Unstructured) error {
	d := resource.Into[api.NodeDisruption](obj).Status
	for _, field := range []string{"moves", "killed", "replacements", "uids"} {
		unstructured.RemoveNestedField(obj.Object, "status", field)
	}
	a.Printf("%s", show.DescribeObject(obj))
	w := a.Columns(2)
	places := placesOf(d.Replacements)
	for i := range d.Replacements {
		r := &d.Replacements[i]
		if i == 0 {
			session.Say(w, "Replacements:\n  Name\tPool\tNode\tState\tInstance-Types\n")
		}
		state := "launching"
		switch {
		case r.Failed != "":
			state = "failed"
		case r.Initialized:
			state = "ready"
		case r.Node != "":
			state = "not ready"
		}
		session.Say(w, "  %s\t%s\t%s\t%s\t%s\n", r.Name, r.Pool, session.OrDash(r.Node), state, strings.Join(r.InstanceTypes, ","))
	}
	for i, m := range d.Moves {
		if i == 0 {
			session.Say(w, "Moves:\n  Pod\tFrom\tTo\n")
		}
		session.Say(w, "  %s\t%s\t%s\n", m.Pod, session.OrDash(m.From), cmp.Or(places[m.To], m.Where()))
	}
	launching := d.Phase == api.PhaseLaunching
	for i := range d.Killed {
		k := &d.Killed[i]
		if i == 0 {
			session.Say(w, "Killed:\n  Pod\tFrom\tWhen\tTo\tProtected-By\n")
		}
		session.Say(w, "  %s\t%s\t%s\t%s\t%s\n", k.Pod, k.From, killedWhen(k, launching), cmp.Or(places[k.To], k.Where()), k.Message)
	}
	return w.Flush()
}

// placesOf are the names of the new nodes of a disruption, or of their launches, by what moves call them.
func placesOf(replacements []api.NodeReplacement) map[string]string {
	places := map[string]string{}
	for i := range replacements {
		places[fmt.Sprintf("new-%d", i)] = cmp.Or(replacements[i].Node, replacements[i].Name)
	}
	return places
}

// killedWhen is the moment at which a pod is killed, as far as it is known.
func killedWhen(k *api.KilledPod, launching bool) string {
	at := k.At.UTC().Format(time.RFC3339)
	switch {
	case k.WithNode && launching:
		return "with its node"
	case k.WithNode:
		return "with its node, " + at + " or before"
	case launching:
		return at + " or later"
	default:
		return at
	}
}

// quantities shows amounts as Kubernetes does, "3900m" and "16Gi".
func quantities(obj *unstructured.Unstructured, amounts api.Amounts, path ...string) {
	if amounts == nil {
		return
	}
	shown := map[string]any{}
	for name, n := range amounts {
		shown[name] = quantity(name, n)
	}
	// The only error is that of a path that leads through what is no map.
	_ = unstructured.SetNestedMap(obj.Object, shown, path...)
}

// quantity is an amount of a resource, "3900m" or "16Gi".
func quantity(name string, n int64) string {
	if name == "cpu" {
		return apiresource.NewMilliQuantity(n, apiresource.DecimalSI).String()
	}
	return apiresource.NewQuantity(n, apiresource.BinarySI).String()
}

func (a Commands) printPods(pods []api.PodState) error {
	if len(pods) == 0 {
		a.Printf("Pods:  <none>\n")
		return nil
	}
	a.Printf("Pods:\n")
	w := a.Columns(2)
	session.Say(w, "  Namespace\tName\tCPU\tMemory\tOwner\tPhase\tAge\n")
	for i := range pods {
		p := &pods[i]
		owner := session.OrDash(p.Owner)
		if p.OwnerName != "" {
			owner += "/" + p.OwnerName
		}
		phase := session.OrDash(p.Phase)
		if p.Terminating {
			phase = "Terminating"
		}
		session.Say(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Namespace, p.Name, quantity("cpu", p.Requests["cpu"]), quantity("memory", p.Requests["memory"]), owner, phase, session.Since(a.Now(), p.Created.Time))
	}
	return w.Flush()
}
