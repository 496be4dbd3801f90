package schedule_test

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/verdict"
)

// refVerdict is what the reference says of one member.
type refVerdict struct {
	Picked, Scored, Keeps bool
	Filter                string
	Affinity, Spread      int32
}

// reference decides as KubeFleet does, but for D30, D32 and D33, member by member and cycle by cycle, without
// regard to speed. It shares no code with the package under test.
type reference struct {
	in       schedule.Input
	digest   string
	members  []api.Member // by name
	verdicts map[string]*refVerdict
}

func decideByReference(in schedule.Input) map[string]*refVerdict {
	r := &reference{in: in, digest: schedule.PolicyDigest(in.Policy), verdicts: map[string]*refVerdict{}}
	for _, name := range in.Fleet.Names() {
		m, _ := in.Fleet.Member(name)
		r.members = append(r.members, m)
		r.verdicts[name] = &refVerdict{}
	}
	switch in.Policy.Type() {
	case api.PickFixed:
		r.pickFixed()
	case api.PickN:
		r.pickN()
	default:
		r.pickAll()
	}
	return r.verdicts
}

func (r *reference) binding(name string) *schedule.Existing {
	for i := range r.in.Existing {
		if r.in.Existing[i].Member == name && r.in.Existing[i].State != api.BindingUnscheduled {
			return &r.in.Existing[i]
		}
	}
	return nil
}

func (r *reference) current(m *api.Member) *schedule.Existing {
	b := r.binding(m.Name)
	if b == nil || m.Leaving || slices.Contains(r.in.Evicted, m.Name) || b.Policy != "" && b.Policy != r.digest {
		return nil
	}
	return b
}

func (r *reference) obsolete(m *api.Member) bool {
	b := r.binding(m.Name)
	return b != nil && !m.Leaving && !slices.Contains(r.in.Evicted, m.Name) && b.Policy != "" && b.Policy != r.digest
}

func (r *reference) pickAll() {
	for i := range r.members {
		m := &r.members[i]
		v := r.verdicts[m.Name]
		switch filter := r.filter(m); {
		case r.current(m) != nil:
			r.keep(m)
		case filter == "":
			v.Picked, v.Scored = true, true
		default:
			v.Filter = filter
		}
	}
}

func (r *reference) keep(m *api.Member) {
	v, b := r.verdicts[m.Name], r.current(m)
	v.Picked = true
	if b.AffinityScore != nil && b.SpreadScore != nil {
		v.Scored, v.Affinity, v.Spread = true, *b.AffinityScore, *b.SpreadScore
	}
}

func (r *reference) pickFixed() {
	for i := range r.members {
		m := &r.members[i]
		v := r.verdicts[m.Name]
		switch {
		case !slices.Contains(r.in.Policy.ClusterNames, m.Name):
			v.Filter = verdict.FilterAffinity
		case r.ineligible(m):
			v.Filter = verdict.FilterEligibility
			v.Keeps = r.current(m) != nil || r.obsolete(m)
		default:
			v.Picked = true
		}
	}
}

// filter returns the first filter that refuses, spread excepted.
func (r *reference) filter(m *api.Member) string {
	switch {
	case !r.matchesRequired(m):
		return verdict.FilterAffinity
	case r.ineligible(m):
		return verdict.FilterEligibility
	case r.in.Namespace != "" && m.NamespaceCondition && !slices.Contains(m.Namespaces, r.in.Namespace):
		return verdict.FilterNamespace
	case !r.toleratesAll(m):
		return verdict.FilterTaint
	case slices.Contains(r.in.Evicted, m.Name):
		return verdict.FilterPlaced
	}
	return ""
}

func (r *reference) ineligible(m *api.Member) bool {
	return m.Leaving || !m.HasAgent || r.in.Now.Sub(m.LastHeartbeat) > 5*time.Minute ||
		m.Joined != "True" || m.Healthy == "" ||
		m.Healthy != "True" && r.in.Now.Sub(m.HealthChanged) > 5*time.Minute
}

func (r *reference) matchesRequired(m *api.Member) bool {
	p := r.in.Policy
	if p == nil || p.Affinity == nil || p.Affinity.ClusterAffinity.Required == nil {
		return true
	}
	for _, t := range p.Affinity.ClusterAffinity.Required.ClusterSelectorTerms {
		if matchesLabels(t.LabelSelector, m) && matchesProperties(t.PropertySelector, m) {
			return true
		}
	}
	return false
}

func matchesLabels(s *metav1.LabelSelector, m *api.Member) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(m.Labels))
}

func matchesProperties(s *api.PropertySelector, m *api.Member) bool {
	if s == nil {
		return true
	}
	for _, e := range s.MatchExpressions {
		observed, ok := quantity(m, e.Name)
		if !ok {
			return false
		}
		wanted := resource.MustParse(e.Values[0])
		order := observed.Cmp(wanted)
		if !map[api.PropertyOperator]bool{
			api.OpGt: order > 0, api.OpGe: order >= 0, api.OpEq: order == 0,
			api.OpNe: order != 0, api.OpLt: order < 0, api.OpLe: order <= 0,
		}[e.Operator] {
			return false
		}
	}
	return true
}

func quantity(m *api.Member, name string) (resource.Quantity, bool) {
	text, present := m.Properties[api.CanonicalProperty(name)]
	if !present {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

func (r *reference) toleratesAll(m *api.Member) bool {
	var tolerations []api.Toleration
	if r.in.Policy != nil {
		tolerations = r.in.Policy.Tolerations
	}
	for _, taint := range m.Taints {
		if !slices.ContainsFunc(tolerations, func(t api.Toleration) bool {
			if t.Operator == api.TolerationExists {
				return t.Key == taint.Key || t.Key == ""
			}
			return t.Key == taint.Key && t.Value == taint.Value
		}) {
			return false
		}
	}
	return true
}

func (r *reference) pickN() {
	n := int(*r.in.Policy.NumberOfClusters)
	kept := r.keepUpTo(n)
	for {
		candidates := r.cycle()
		if kept >= n || len(candidates) == 0 {
			return
		}
		best := candidates[0]
		v := r.verdicts[best.Name]
		v.Picked, v.Filter = true, ""
		if kept++; kept >= n {
			return
		}
	}
}

// keepUpTo keeps active bindings, dropping the lowest beyond n.
func (r *reference) keepUpTo(n int) int {
	var active []*api.Member
	for i := range r.members {
		if r.current(&r.members[i]) != nil {
			active = append(active, &r.members[i])
		}
	}
	sort.SliceStable(active, func(i, k int) bool {
		a, b := r.current(active[i]), r.current(active[k])
		if (a.State == api.BindingBound) != (b.State == api.BindingBound) {
			return b.State == api.BindingBound
		}
		aScored, bScored := a.AffinityScore != nil, b.AffinityScore != nil
		switch {
		case aScored != bScored:
			return bScored
		case !aScored:
			return active[i].Name < active[k].Name
		case *a.SpreadScore != *b.SpreadScore:
			return *a.SpreadScore < *b.SpreadScore
		case *a.AffinityScore != *b.AffinityScore:
			return *a.AffinityScore < *b.AffinityScore
		}
		return active[i].Name < active[k].Name
	})
	for _, m := range active[max(0, len(active)-n):] {
		r.keep(m)
	}
	return min(n, len(active))
}

// cycle judges everybody who is not picked and returns those that may be, best first.
func (r *reference) cycle() []*api.Member {
	var candidates []*api.Member
	for i := range r.members {
		m := &r.members[i]
		v := r.verdicts[m.Name]
		if v.Picked {
			continue
		}
		*v = refVerdict{Filter: r.filter(m)}
		if v.Filter != "" {
			continue
		}
		spread, violated := r.spread(m)
		if violated {
			v.Filter = verdict.FilterSpread
			continue
		}
		*v = refVerdict{Filter: verdict.FilterRank, Scored: true, Affinity: r.affinity(m), Spread: spread}
		candidates = append(candidates, m)
	}
	sort.SliceStable(candidates, func(i, k int) bool {
		a, b := r.verdicts[candidates[i].Name], r.verdicts[candidates[k].Name]
		switch {
		case a.Spread != b.Spread:
			return a.Spread > b.Spread
		case a.Affinity != b.Affinity:
			return a.Affinity > b.Affinity
		case r.obsolete(candidates[i]) != r.obsolete(candidates[k]):
			return r.obsolete(candidates[i])
		}
		return candidates[i].Name > candidates[k].Name
	})
	return candidates
}

func (r *reference) affinity(m *api.Member) int32 {
	var sum int32
	if r.in.Policy.Affinity == nil {
		return 0
	}
	for _, t := range r.in.Policy.Affinity.ClusterAffinity.Preferred {
		if t.Weight == 0 || !matchesLabels(t.Preference.LabelSelector, m) {
			continue
		}
		sorter := t.Preference.PropertySorter
		if sorter == nil {
			sorter = t.Preference.MetricSorter
		}
		if sorter == nil {
			sum += t.Weight
			continue
		}
		sum += r.sorted(m, sorter, float64(t.Weight))
	}
	return sum
}

func (r *reference) sorted(m *api.Member, sorter *api.PropertySorter, weight float64) int32 {
	q, ok := quantity(m, sorter.Name)
	if !ok {
		return 0
	}
	var able, unable []float64
	for i := range r.members {
		other, ok := quantity(&r.members[i], sorter.Name)
		switch {
		case ok && r.filter(&r.members[i]) == "":
			able = append(able, other.AsApproximateFloat64())
		case ok:
			unable = append(unable, other.AsApproximateFloat64())
		}
	}
	able = withoutOutlier(able)
	low, high := slices.Min(able), slices.Max(able)
	most := 32 * max(math.Abs(low), math.Abs(high)) // D30
	for _, f := range unable {
		if math.Abs(f) <= most {
			low, high = min(low, f), max(high, f)
		}
	}
	if low == high {
		return 0
	}
	share := (min(max(q.AsApproximateFloat64(), low), high) - low) / (high - low)
	if sorter.SortOrder == api.Descending {
		return int32(math.Round(share * weight))
	}
	return int32(math.Round((1 - share) * weight))
}

// withoutOutlier brings the value farthest from zero to sixteen times the next one (D33).
func withoutOutlier(values []float64) []float64 {
	slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	last := len(values) - 1
	others := values[:last]
	if last < 1 || slices.Min(others) == slices.Max(others) {
		return values
	}
	if most := 16 * math.Abs(others[last-1]); math.Abs(values[last]) > most {
		values[last] = math.Copysign(most, values[last])
	}
	return values
}

func (r *reference) spread(m *api.Member) (sum int32, violated bool) {
	for _, hard := range []bool{true, false} {
		for _, c := range r.in.Policy.TopologySpreadConstraints {
			if hard != (c.WhenUnsatisfiable != api.ScheduleAnyway) {
				continue
			}
			change, broken := r.change(m, c)
			switch {
			case broken && hard:
				return 0, true
			case broken:
				sum -= 1000
			default:
				sum -= change
			}
		}
	}
	return sum, false
}

// change says what one pick more in the member's domain does to the skew.
func (r *reference) change(m *api.Member, c api.TopologySpreadConstraint) (int32, bool) {
	domain, carries := m.Labels[c.TopologyKey]
	if !carries {
		return 0, false
	}
	counts := map[string]int32{}
	for i := range r.members {
		if value, has := r.members[i].Labels[c.TopologyKey]; has && (value == domain || r.countsForAll(value, c.TopologyKey)) {
			counts[value] += 0
			if r.verdicts[r.members[i].Name].Picked {
				counts[value]++
			}
		}
	}
	var sorted []int32
	for _, n := range counts {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	smallest, largest, second := sorted[0], sorted[len(sorted)-1], sorted[min(1, len(sorted)-1)]
	limit, change := int32(1), int32(0)
	if c.MaxSkew != nil {
		limit = *c.MaxSkew
	}
	switch n := counts[domain]; {
	case largest == smallest:
		change = 1
	case n == smallest && smallest != second:
		change = -1
	case n == largest:
		change = 1
	}
	return change, largest-smallest+change > limit
}

// countsForAll says that somebody wrote the value on a member, or that two members that carry it can be picked (D32).
func (r *reference) countsForAll(value, key string) bool {
	able := 0
	for i := range r.members {
		m := &r.members[i]
		if carried, has := m.Labels[key]; !has || carried != value {
			continue
		}
		if !slices.Contains(m.Agent.Stated, key) {
			return true
		}
		if r.verdicts[m.Name].Picked || r.filter(m) == "" {
			able++
		}
	}
	return able > 1
}
