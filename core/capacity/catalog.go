package capacity

import (
	"cmp"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// Catalog is a parsed InstanceCatalog, shared by every member that uses it.
type Catalog struct {
	Name     string     // "" for none
	Complete bool       // what is not listed cannot be bought (N20)
	Types    []*Machine // by name
	byName   map[string]*Machine
}

// Machine is one instance type.
type Machine struct {
	Name        string
	Labels      map[string]string // beside zone and capacity type
	Needs       Needs
	Capacity    api.Amounts
	Allocatable api.Amounts
	Offerings   []offering
}

type offering struct {
	zone, capacityType string
	Price              float64
	available          bool
}

// What a node keeps for itself when the catalog does not say.
const (
	reservedCPU    = "100m"
	reservedMemory = "10Mi"
	defaultPods    = 110
)

// NewCatalog parses a catalog that passed validation; nil has no types.
func NewCatalog(c *api.InstanceCatalog) *Catalog {
	out := &Catalog{byName: map[string]*Machine{}}
	if c == nil {
		return out
	}
	out.Name, out.Complete = c.Name, c.Spec.Complete
	cpu, memory := strict.Amount(reservedCPU), strict.Amount(reservedMemory)
	if r := c.Spec.Reserved; r != nil {
		cpu, memory = cmp.Or(r.CPU, "0"), cmp.Or(r.Memory, "0")
	}
	for i := range c.Spec.Types {
		m := newMachine(&c.Spec.Types[i])
		m.Allocatable = maps.Clone(m.Capacity)
		m.Allocatable[CPUName] -= amountOf(CPUName, string(cpu))
		m.Allocatable[MemoryName] -= amountOf(MemoryName, string(memory))
		out.Types = append(out.Types, m)
		out.byName[m.Name] = m
	}
	slices.SortFunc(out.Types, func(a, b *Machine) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func newMachine(t *api.InstanceType) *Machine {
	m := &Machine{Name: t.Name, Capacity: api.Amounts{
		CPUName: amountOf(CPUName, string(t.CPU)), MemoryName: amountOf(MemoryName, string(t.Memory)), PodsName: defaultPods,
	}}
	if t.Pods != nil {
		m.Capacity[PodsName] = int64(*t.Pods)
	}
	for name, q := range t.Resources {
		m.Capacity[name] = amountOf(name, string(q))
	}
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: t.Name, corev1.LabelArchStable: cmp.Or(t.Arch, "amd64"), corev1.LabelOSStable: cmp.Or(t.OS, "linux"),
	}
	maps.Copy(labels, t.Labels)
	m.Labels = labels
	var zones, kinds []string
	for i := range t.Offerings {
		o := &t.Offerings[i]
		m.Offerings = append(m.Offerings, offering{o.Zone, o.CapacityType, float64(o.Price), o.IsAvailable()})
		if o.IsAvailable() {
			zones, kinds = append(zones, o.Zone), append(kinds, o.CapacityType)
		}
	}
	m.Needs = NeedsOfLabels(labels).With(corev1.LabelTopologyZone, SetOf("In", zones)).With(api.LabelCapacityType, SetOf("In", kinds))
	return m
}

// Names of resources that every pod and node has.
const (
	CPUName    = "cpu"
	MemoryName = "memory"
	PodsName   = "pods"
)

// amountOf reads a quantity in the unit of api.Amounts; what cannot be read is 0.
func amountOf(name, text string) int64 {
	q, err := strict.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return AmountOf(name, q)
}

// AmountOf returns a quantity in the unit of api.Amounts: millicores of cpu, else bytes or units; at most
// api.MaxResource of them, up or down.
func AmountOf(name string, q resource.Quantity) int64 {
	scale, most := resource.Scale(0), resource.NewQuantity(api.MaxResource, resource.DecimalSI)
	if name == CPUName {
		scale, most = resource.Milli, resource.NewMilliQuantity(api.MaxResource, resource.DecimalSI)
	}
	if q.Cmp(*most) >= 0 {
		return api.MaxResource
	}
	if most.Neg(); q.Cmp(*most) <= 0 {
		return -api.MaxResource
	}
	return q.ScaledValue(scale)
}

// Amounts returns a Kubernetes resource list in the units of api.Amounts.
func Amounts(list corev1.ResourceList) api.Amounts {
	out := make(api.Amounts, len(list))
	for name, q := range list {
		out[string(name)] = AmountOf(string(name), q)
	}
	return out
}

// Price is that of the first offering in a zone and capacity type, available or not; unknown, which counts
// as 0, when there is none.
func (m *Machine) Price(zone, capacityType string) api.Hourly {
	if m == nil {
		return api.Hourly{Unknown: true}
	}
	for i := range m.Offerings {
		if o := &m.Offerings[i]; o.zone == zone && o.capacityType == capacityType {
			return api.Hourly{Amount: o.Price}
		}
	}
	return api.Hourly{Unknown: true}
}

// OfferedAs reports whether some offering, available or not, is in a zone and of a capacity type, either of
// which may be unknown; reserved accepts on-demand.
func (m *Machine) OfferedAs(zone, capacityType string) bool {
	return m != nil && slices.ContainsFunc(m.Offerings, func(o offering) bool {
		kind := capacityType == "" || o.capacityType == capacityType || capacityType == api.CapacityReserved && o.capacityType == api.CapacityOnDemand
		return kind && (zone == "" || o.zone == zone)
	})
}

// Fits reports whether an offering is within n.
func (o *offering) Fits(n Needs) bool {
	if s := n.Get(corev1.LabelTopologyZone); s != nil && !s.Has(o.zone) {
		return false
	}
	s := n.Get(api.LabelCapacityType)
	return s == nil || s.Has(o.capacityType)
}

// Offered reports whether the type can be bought within n now.
func (m *Machine) Offered(n Needs) bool {
	return slices.ContainsFunc(m.Offerings, func(o offering) bool { return o.available && o.Fits(n) })
}

// Cheapest is the lowest price within n now; infinite when it cannot be bought.
func (m *Machine) Cheapest(n Needs) float64 {
	least := math.Inf(1)
	for i := range m.Offerings {
		if o := &m.Offerings[i]; o.available && o.Fits(n) {
			least = min(least, o.Price)
		}
	}
	return least
}

// WorstLaunch is the dearest price within n of the first capacity type that is offered, of reserved,
// spot and on-demand in this order.
func (m *Machine) WorstLaunch(n Needs) float64 {
	for _, kind := range []string{api.CapacityReserved, api.CapacitySpot, api.CapacityOnDemand} {
		dearest, found := 0.0, false
		for i := range m.Offerings {
			if o := &m.Offerings[i]; o.available && o.capacityType == kind && o.Fits(n) {
				dearest, found = max(dearest, o.Price), true
			}
		}
		if found {
			return dearest
		}
	}
	return math.Inf(1)
}

// LaunchType is the type as one who launches it within n needs it.
func (m *Machine) LaunchType(n Needs) api.LaunchType {
	out := api.LaunchType{Name: m.Name, Labels: m.Labels, Capacity: m.Capacity, Allocatable: m.Allocatable}
	for i := range m.Offerings {
		if o := &m.Offerings[i]; o.available && o.Fits(n) {
			out.Offerings = append(out.Offerings, api.InstanceOffering{Zone: o.zone, CapacityType: o.capacityType, Price: strict.Price(o.Price)})
		}
	}
	slices.SortFunc(out.Offerings, func(a, b api.InstanceOffering) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	return out
}

// ByPrice sorts types by their cheapest price within n, then by name.
func ByPrice(types []*Machine, n Needs) []*Machine {
	type priced struct {
		m     *Machine
		price float64
	}
	all := make([]priced, len(types))
	for i, m := range types {
		all[i] = priced{m, m.Cheapest(n)}
	}
	slices.SortFunc(all, func(a, b priced) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.m.Name, b.m.Name))
	})
	out := make([]*Machine, len(all))
	for i := range all {
		out[i] = all[i].m
	}
	return out
}
