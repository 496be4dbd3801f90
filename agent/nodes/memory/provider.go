// Package memory is the provider of machines of a member in memory: it launches the cheapest of what the
// hub's instance catalog offers for a node, after a while, and takes machines away.
//
// Package agentd gives it to package nodes where the agent's target is a member in memory; faults of
// that member make launches fail, hang, or never become ready. It keeps nothing itself: what there is the
// member knows, so that an agent that is made anew finds its launches again.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/agent/target/memory"
	"flotilla/core/api"
)

// Options of a Provider. The zero value is instant.
type Options struct {
	// LaunchTime is until a node shows up, ReadyAfter from then until it is ready, DeleteTime until a
	// machine that is to go is gone.
	LaunchTime, ReadyAfter, DeleteTime time.Duration
}

// Provider makes the machines of one member in memory.
type Provider struct {
	member *memory.Member
	o      Options
}

// New returns the provider of a member.
func New(m *memory.Member, o Options) *Provider { return &Provider{member: m, o: o} }

// String names the provider.
func (p *Provider) String() string { return "memory" }

// Launch launches the cheapest offering under the name of the launch.
func (p *Provider) Launch(_ context.Context, l api.NodeLaunch) (api.LaunchedNode, error) {
	t, o := cheapest(l.Types)
	if t == nil {
		return api.LaunchedNode{Failed: fmt.Sprintf("none of the instance types of launch %s can be bought", l.Name)}, nil
	}
	labels := maps.Clone(t.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, l.Labels)
	node, err := p.member.LaunchNode(memory.Launch{
		Name: l.Name, NodePool: l.Pool, InstanceType: t.Name, Zone: o.Zone, CapacityType: o.CapacityType, Price: float64(o.Price),
		Capacity: quantities(t.Capacity), Allocatable: quantities(t.Allocatable), Labels: labels, Annotations: l.Annotations,
		Taints: taints(l.Taints), StartupTaints: taints(l.StartupTaints), LaunchTime: p.o.LaunchTime, ReadyAfter: p.o.ReadyAfter,
	})
	if err != nil {
		return api.LaunchedNode{Failed: err.Error()}, nil
	}
	return api.LaunchedNode{Node: node}, nil
}

// Delete takes the machine of a node away.
func (p *Provider) Delete(_ context.Context, m api.NodeMachine) (bool, error) {
	return p.member.TerminateMachine(cmp.Or(m.Node, m.Launch), p.o.DeleteTime), nil
}

// Gone reports whether a node has no machine any more.
func (p *Provider) Gone(_ context.Context, m api.NodeMachine) (bool, error) {
	return !p.member.HasMachine(cmp.Or(m.Node, m.Launch)), nil
}

// cheapest is the offering with the lowest price; of equal ones the first. Nil when there is none.
func cheapest(types []api.LaunchType) (*api.LaunchType, *api.InstanceOffering) {
	var t *api.LaunchType
	var least *api.InstanceOffering
	for i := range types {
		for j := range types[i].Offerings {
			if o := &types[i].Offerings[j]; o.IsAvailable() && (least == nil || o.Price < least.Price) {
				t, least = &types[i], o
			}
		}
	}
	return t, least
}

// quantities are amounts as a node shows them.
func quantities(amounts api.Amounts) corev1.ResourceList {
	if amounts == nil {
		return nil
	}
	out := corev1.ResourceList{}
	for name, n := range amounts {
		switch name {
		case "cpu":
			out[corev1.ResourceCPU] = *resource.NewMilliQuantity(n, resource.DecimalSI)
		case "memory", "ephemeral-storage":
			out[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.BinarySI)
		default:
			out[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	return out
}

func taints(list []api.NodeTaint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range list {
		out = append(out, t.Taint())
	}
	return out
}
