package disruption

import (
	"cmp"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/core/api"
)

// Catalog is a parsed InstanceCatalog, shared by every member that uses it.
type Catalog struct {
	name     string     // "" for none
	complete bool       // what is not listed cannot be bought (N20)
	types    []*machine // by name
	byName   map[string]*machine
}

// machine is one instance type.
type machine struct {
	name        string
	labels      map[string]string // beside zone and capacity type
	needs       needs
	capacity    api.Amounts
	allocatable api.Amounts
	offerings   []offering
}

type offering struct {
	zone, capacityType string
	price              float64
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
	out := &Catalog{byName: map[string]*machine{}}
	if c == nil {
		return out
	}
	out.name, out.complete = c.Name, c.Spec.Complete
	cpu, memory := api.Amount(reservedCPU), api.Amount(reservedMemory)
	if r := c.Spec.Reserved; r != nil {
		cpu, memory = cmp.Or(r.CPU, "0"), cmp.Or(r.Memory, "0")
	}
	for i := range c.Spec.Types {
		m := newMachine(&c.Spec.Types[i])
		m.allocatable = maps.Clone(m.capacity)
		m.allocatable[cpuName] -= amountOf(cpuName, string(cpu))
		m.allocatable[memoryName] -= amountOf(memoryName, string(memory))
		out.types = append(out.types, m)
		out.byName[m.name] = m
	}
	slices.SortFunc(out.types, func(a, b *machine) int { return cmp.Compare(a.name, b.name) })
	return out
}

func newMachine(t *api.InstanceType) *machine {
	m := &machine{name: t.Name, capacity: api.Amounts{
		cpuName: amountOf(cpuName, string(t.CPU)), memoryName: amountOf(memoryName, string(t.Memory)), podsName: defaultPods,
	}}
	if t.Pods != nil {
		m.capacity[podsName] = int64(*t.Pods)
	}
	for name, q := range t.Resources {
		m.capacity[name] = amountOf(name, string(q))
	}
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: t.Name, corev1.LabelArchStable: cmp.Or(t.Arch, "amd64"), corev1.LabelOSStable: cmp.Or(t.OS, "linux"),
	}
	maps.Copy(labels, t.Labels)
	m.labels = labels
	var zones, kinds []string
	for i := range t.Offerings {
		o := &t.Offerings[i]
		m.offerings = append(m.offerings, offering{o.Zone, o.CapacityType, float64(o.Price), o.IsAvailable()})
		if o.IsAvailable() {
			zones, kinds = append(zones, o.Zone), append(kinds, o.CapacityType)
		}
	}
	m.needs = needsOfLabels(labels).with(corev1.LabelTopologyZone, setOf("In", zones)).with(api.LabelCapacityType, setOf("In", kinds))
	return m
}

// Names of resources that every pod and node has.
const (
	cpuName    = "cpu"
	memoryName = "memory"
	podsName   = "pods"
)

// amountOf reads a quantity in the unit of api.Amounts; what cannot be read is 0.
func amountOf(name, text string) int64 {
	q, err := api.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return AmountOf(name, q)
}

// AmountOf returns a quantity in the unit of api.Amounts: millicores of cpu, else bytes or units; at most
// api.MaxResource of them, up or down.
func AmountOf(name string, q resource.Quantity) int64 {
	scale, most := resource.Scale(0), resource.NewQuantity(api.MaxResource, resource.DecimalSI)
	if name == cpuName {
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

// price is that of the first offering in a zone and capacity type, available or not; unknown, which counts
// as 0, when there is none (section 6).
func (m *machine) price(zone, capacityType string) api.Hourly {
	if m == nil {
		return api.Hourly{Unknown: true}
	}
	for i := range m.offerings {
		if o := &m.offerings[i]; o.zone == zone && o.capacityType == capacityType {
			return api.Hourly{Amount: o.price}
		}
	}
	return api.Hourly{Unknown: true}
}

// offeredAs reports whether some offering, available or not, is in a zone and of a capacity type, either of
// which may be unknown; reserved accepts on-demand.
func (m *machine) offeredAs(zone, capacityType string) bool {
	return m != nil && slices.ContainsFunc(m.offerings, func(o offering) bool {
		kind := capacityType == "" || o.capacityType == capacityType || capacityType == api.CapacityReserved && o.capacityType == api.CapacityOnDemand
		return kind && (zone == "" || o.zone == zone)
	})
}

// fits reports whether an offering is within n.
func (o *offering) fits(n needs) bool {
	if s := n.get(corev1.LabelTopologyZone); s != nil && !s.has(o.zone) {
		return false
	}
	s := n.get(api.LabelCapacityType)
	return s == nil || s.has(o.capacityType)
}

// offered reports whether the type can be bought within n now.
func (m *machine) offered(n needs) bool {
	return slices.ContainsFunc(m.offerings, func(o offering) bool { return o.available && o.fits(n) })
}

// cheapest is the lowest price within n now; infinite when it cannot be bought.
func (m *machine) cheapest(n needs) float64 {
	least := math.Inf(1)
	for i := range m.offerings {
		if o := &m.offerings[i]; o.available && o.fits(n) {
			least = min(least, o.price)
		}
	}
	return least
}

// worstLaunch is the dearest price within n of the first capacity type that is offered, of reserved,
// spot and on-demand in this order (section 8).
func (m *machine) worstLaunch(n needs) float64 {
	for _, kind := range []string{api.CapacityReserved, api.CapacitySpot, api.CapacityOnDemand} {
		dearest, found := 0.0, false
		for i := range m.offerings {
			if o := &m.offerings[i]; o.available && o.capacityType == kind && o.fits(n) {
				dearest, found = max(dearest, o.price), true
			}
		}
		if found {
			return dearest
		}
	}
	return math.Inf(1)
}

// launchType is the type as one who launches it within n needs it.
func (m *machine) launchType(n needs) api.LaunchType {
	out := api.LaunchType{Name: m.name, Labels: m.labels, Capacity: m.capacity, Allocatable: m.allocatable}
	for i := range m.offerings {
		if o := &m.offerings[i]; o.available && o.fits(n) {
			out.Offerings = append(out.Offerings, api.InstanceOffering{Zone: o.zone, CapacityType: o.capacityType, Price: api.Price(o.price)})
		}
	}
	slices.SortFunc(out.Offerings, func(a, b api.InstanceOffering) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	return out
}

// byPrice sorts types by their cheapest price within n, then by name.
func byPrice(types []*machine, n needs) []*machine {
	type priced struct {
		m     *machine
		price float64
	}
	all := make([]priced, len(types))
	for i, m := range types {
		all[i] = priced{m, m.cheapest(n)}
	}
	slices.SortFunc(all, func(a, b priced) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.m.name, b.m.name))
	})
	out := make([]*machine, len(all))
	for i := range all {
		out[i] = all[i].m
	}
	return out
}
