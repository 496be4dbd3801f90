package sim

import (
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
)

// Now is when simulated fleets are looked at first.
var Now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// none among choices stands for the absence of the label or property.
const none = "-"

// drawn is a label or property and what is drawn for it.
type drawn struct {
	key     string
	choices []string
}

var labels = []drawn{
	{"region", []string{"eastus", "eastus", "westus", "northeurope", "-"}},
	{"zone", []string{"z1", "z2", "z3", "-"}},
	{"env", []string{"prod", "prod", "dev", "-"}},
	{"tier", []string{"gold", "", "-", "-"}},
}

var properties = []drawn{
	{api.PropertyNodeCount, []string{"0", "1", "3", "5", "5", "12", "-"}},
	{api.PropertyNodeCountAKS, []string{"-", "-", "-", "-", "7"}},
	{api.PropertyResourcePrefix + "available-cpu", []string{"100m", "1500m", "1.5", "8", "64", "-"}},
	{api.PropertyResourcePrefix + "total-ephemeral-storage", []string{"2Gi", "2G", "1e9", "-"}},
	{api.PropertyCPUCost, []string{"0.02", "0.1", "0.100", "1", "1e12", "free", "-"}},
	{"example.com/carbon", []string{"-5", "0", "10", "2.5k", "-"}},
	{"k8s.io/k8s-version", []string{"v1.29.4", "v1.30.1", "-"}},
}

// Taints are those that members are given and policies may tolerate.
var Taints = []api.Taint{
	{Key: "gpu", Value: "true", Effect: api.EffectNoSchedule},
	{Key: "maintenance", Effect: api.EffectNoSchedule},
	{Key: "dedicated", Value: "ml", Effect: api.EffectNoSchedule},
}

// Members makes n members: most of them healthy, some tainted, silent, leaving or never heard of.
func Members(s *Source, n int) []api.Member {
	members := make([]api.Member, n)
	for i := range members {
		members[i] = Member(s, fmt.Sprintf("member-%03d", i))
	}
	return members
}

// Member makes one member of this name.
func Member(s *Source, name string) api.Member {
	m := api.Member{
		Name: name, HasAgent: !s.Chance(20), Joined: "True", Healthy: "True", Leaving: s.Chance(25),
		LastHeartbeat: Now.Add(-time.Duration(s.Below(60)) * time.Second),
		HealthChanged: Now.Add(-time.Duration(s.Below(20)) * time.Minute),
		Labels:        map[string]string{api.LabelMemberName: name},
		Properties:    map[string]string{},
	}
	if s.Chance(15) {
		m.LastHeartbeat = Now.Add(-Pick(s, 5*time.Minute, 5*time.Minute+time.Second, time.Hour))
	}
	if s.Chance(15) {
		m.Healthy = Pick(s, "", "False", "Unknown")
	}
	if s.Chance(30) {
		m.Joined = Pick(s, "", "False")
	}
	draw(s, labels, m.Labels)
	draw(s, properties, m.Properties)
	for _, taint := range Taints {
		if s.Chance(10) {
			m.Taints = append(m.Taints, taint)
		}
	}
	if m.NamespaceCondition = s.Chance(3); m.NamespaceCondition {
		if m.NamespacesKnown = !s.Chance(4); m.NamespacesKnown {
			m.Namespaces = Pick(s, []string{"apps"}, []string{"apps", "kube-system"}, []string{"kube-system"})
		}
	}
	state(s, &m)
	return m
}

// state makes labels of some members such that their agents state: some of those that they have, or one of their own.
func state(s *Source, m *api.Member) {
	if !s.Chance(3) {
		return
	}
	for _, d := range labels {
		if _, has := m.Labels[d.key]; !has || !s.Chance(2) {
			continue
		}
		if m.Agent.Stated = append(m.Agent.Stated, d.key); s.Chance(4) {
			m.Labels[d.key] = "of " + m.Name
		}
	}
	slices.Sort(m.Agent.Stated)
}

func draw(s *Source, from []drawn, into map[string]string) {
	for _, d := range from {
		if value := Pick(s, d.choices...); value != none {
			into[d.key] = value
		}
	}
}
