package simulate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/core/capacity"
)

// noType is why a new node does not take a pod that no instance type suits.
const noType = "no instance type has the resources, labels and offerings it needs"

// typeless says what no instance type of a new node has for its first pod within n: the labels and offerings,
// else the resources that none of them has enough of.
func (r *Run) typeless(c *Claim, m *Moving, n capacity.Needs) string {
	f := r.X.freshOf(c.Pool)
	r.X.Spend(len(c.Types)*(aType+aNeed*len(n)+aLook*r.X.cols) + aText*r.X.cols)
	fitting := slices.DeleteFunc(slices.Clone(c.Types), func(t *capacity.Machine) bool { return !n.Intersects(t.Needs) || !t.Offered(n) || !r.X.labelled(t, n) })
	within := ""
	if len(c.Types) < len(f.types) {
		within = " within the pool's limits (" + strings.Join(r.limiting(c.Pool), ", ") + ")"
	}
	if len(fitting) == 0 {
		return fmt.Sprintf("no instance type%s has %s", within, r.X.unmet(c.Types, n))
	}
	total := slices.Clone(c.Requests)
	m.Requests.AddTo(total, 1)
	var none, some []string
	for i, name := range r.X.resourceNames() {
		least, most := int64(math.MaxInt64), int64(math.MinInt64)
		for _, t := range fitting {
			least, most = min(least, f.rows[t][i]), max(most, f.rows[t][i])
		}
		needed := quantity(name, total[i]) + " needed"
		if c.Requests[i] > 0 {
			needed += " with its daemons"
		}
		if total[i] > most {
			none = append(none, fmt.Sprintf("%s (%s, %s at most)", name, needed, quantity(name, max(most, 0))))
		} else if total[i] > least {
			some = append(some, fmt.Sprintf("%s (%s)", name, needed))
		}
	}
	if len(none) == 0 {
		return fmt.Sprintf("no instance type%s has enough of all at once: %s", within, strings.Join(some, ", "))
	}
	return fmt.Sprintf("no instance type%s has enough %s", within, strings.Join(none, ", "))
}

// resourceNames are the names of the columns of a row.
func (x *Index) resourceNames() []string {
	out := make([]string, x.cols)
	for name, i := range x.State.Cluster.Resources.Index {
		out[i] = name
	}
	return out
}

// quantity is an amount as people write it.
func quantity(name string, n int64) string {
	switch {
	case name == capacity.CPUName:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case name == capacity.MemoryName || strings.HasSuffix(name, "storage") || strings.HasPrefix(name, "hugepages-"):
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return resource.NewQuantity(n, resource.DecimalSI).String()
}
