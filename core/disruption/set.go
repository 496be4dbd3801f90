package disruption

import (
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// set is what the value of a label may be: one of values, or anything but values, within bounds.
// The zero set is empty: the label may not exist.
type set struct {
	values   []string // sorted
	anything bool     // all but values
	above    int64    // exclusive bounds of a number, when bounded
	below    int64
	bounded  bool
}

func oneValue(v string) set { return set{values: []string{v}} }

var anyValue = set{anything: true}

// setOf reads one requirement, of a node selector or of a pool.
func setOf(operator string, values []string) set {
	sorted := slices.Compact(slices.Sorted(slices.Values(values)))
	number := func() int64 {
		n, _ := strconv.ParseInt(strings.Join(values, ""), 10, 64)
		return n
	}
	switch operator {
	case "In":
		return set{values: sorted}
	case "NotIn":
		return set{values: sorted, anything: true}
	case "Exists":
		return anyValue
	case "Gt":
		return set{anything: true, bounded: true, above: number(), below: math.MaxInt64}
	case "Gte":
		return set{anything: true, bounded: true, above: number() - 1, below: math.MaxInt64}
	case "Lt":
		return set{anything: true, bounded: true, above: math.MinInt64, below: number()}
	case "Lte":
		return set{anything: true, bounded: true, above: math.MinInt64, below: number() + 1}
	default:
		return set{}
	}
}

func (s *set) has(v string) bool {
	if _, found := slices.BinarySearch(s.values, v); found == s.anything {
		return false
	}
	return s.within(v)
}

func (s *set) within(v string) bool {
	if !s.bounded {
		return true
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return err == nil && n > s.above && n < s.below
}

// none reports that no value will do.
func (s *set) none() bool {
	if s.anything {
		return s.hollow()
	}
	return len(s.values) == 0
}

// hollow reports bounds that no whole number is between.
func (s *set) hollow() bool { return s.bounded && (s.above >= s.below || s.above == s.below-1) }

// lenient reports a set that is content with a label that does not exist: NotIn and DoesNotExist.
func (s *set) lenient() bool {
	return s.anything && len(s.values) > 0 && !s.bounded || !s.anything && len(s.values) == 0
}

func (s *set) and(o *set) set {
	out := set{anything: s.anything && o.anything, bounded: s.bounded || o.bounded, above: math.MinInt64, below: math.MaxInt64}
	for _, b := range []*set{s, o} {
		if b.bounded {
			out.above, out.below = max(out.above, b.above), min(out.below, b.below)
		}
	}
	switch {
	case out.anything:
		out.values = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(s.values), o.values...))))
		return out
	case s.anything:
		s, o = o, s
	}
	for _, v := range s.values {
		if o.has(v) && out.within(v) {
			out.values = append(out.values, v)
		}
	}
	out.bounded = false
	return out
}

// meets reports whether two sets share a value.
func (s *set) meets(o *set) bool {
	if s.anything && o.anything {
		both := s.and(o)
		return !both.hollow()
	}
	if s.anything {
		s, o = o, s
	}
	return slices.ContainsFunc(s.values, o.has)
}

// agrees reports whether two restrictions of one label can both hold: they share a value, or neither
// minds its absence.
func (s *set) agrees(o *set) bool { return s.meets(o) || s.lenient() && o.lenient() }

// String is "in a, b", "not in a" or "any".
func (s *set) String() string {
	switch {
	case s.anything && len(s.values) == 0 && !s.bounded:
		return "any"
	case s.anything && !s.bounded:
		return "not in " + strings.Join(s.values, ", ")
	case s.bounded:
		return "above " + strconv.FormatInt(s.above, 10) + ", below " + strconv.FormatInt(s.below, 10)
	case len(s.values) == 0:
		return "none"
	default:
		return "in " + strings.Join(s.values, ", ")
	}
}

// need restricts one label.
type need struct {
	key string
	set set
}

// needs are sorted by key, each key once. They are never changed in place.
type needs []need

func (n needs) get(key string) *set {
	for i := range n {
		if n[i].key == key {
			return &n[i].set
		}
	}
	return nil
}

// with returns n and one more restriction.
func (n needs) with(key string, s set) needs {
	i, found := slices.BinarySearchFunc(n, key, func(a need, k string) int { return strings.Compare(a.key, k) })
	out := slices.Clone(n)
	if found {
		out[i].set = n[i].set.and(&s)
		return out
	}
	return slices.Insert(out, i, need{key, s})
}

func (n needs) withAll(o needs) needs {
	for i := range o {
		n = n.with(o[i].key, o[i].set)
	}
	return n
}

func needsOfLabels(labels map[string]string) needs {
	out := make(needs, 0, len(labels))
	for k, v := range labels {
		out = append(out, need{canonicalLabel(k), oneValue(v)})
	}
	slices.SortFunc(out, func(a, b need) int { return strings.Compare(a.key, b.key) })
	return out
}

func needsOfTerm(term *corev1.NodeSelectorTerm) needs {
	var out needs
	for i := range term.MatchExpressions {
		e := &term.MatchExpressions[i]
		out = out.with(canonicalLabel(e.Key), setOf(string(e.Operator), e.Values))
	}
	for i := range term.MatchFields {
		e := &term.MatchFields[i]
		if e.Key == "metadata.name" {
			out = out.with(corev1.LabelHostname, setOf(string(e.Operator), e.Values))
		}
	}
	return out
}

// aliases are older names of labels.
var aliases = map[string]string{
	"failure-domain.beta.kubernetes.io/zone":   corev1.LabelTopologyZone,
	"failure-domain.beta.kubernetes.io/region": corev1.LabelTopologyRegion,
	"beta.kubernetes.io/arch":                  corev1.LabelArchStable,
	"beta.kubernetes.io/os":                    corev1.LabelOSStable,
	"beta.kubernetes.io/instance-type":         corev1.LabelInstanceTypeStable,
}

func canonicalLabel(key string) string {
	if k, ok := aliases[key]; ok {
		return k
	}
	return key
}

// wellKnown are labels that a new node gets whether or not its pool says so.
var wellKnown = map[string]bool{
	api.LabelNodePool: true, api.LabelCapacityType: true, corev1.LabelTopologyZone: true, corev1.LabelTopologyRegion: true,
	corev1.LabelInstanceTypeStable: true, corev1.LabelArchStable: true, corev1.LabelOSStable: true,
	"node.kubernetes.io/windows-build": true, corev1.LabelHostname: true,
}

// admits reports whether a node with exactly these labels satisfies n.
func (n needs) admits(labels map[string]string, hostname string) bool {
	for i := range n {
		v, ok := labels[n[i].key]
		if n[i].key == corev1.LabelHostname {
			v, ok = hostname, true
		}
		switch s := &n[i].set; {
		case !ok && !s.lenient(), ok && !s.has(v):
			return false
		}
	}
	return true
}

// allows reports whether a node yet to be made under n could satisfy o; the key in the way otherwise.
func (n needs) allows(o needs, extra map[string]bool) (string, bool) {
	for i := range o {
		mine := n.get(o[i].key)
		if mine == nil {
			if !o[i].set.lenient() && !wellKnown[o[i].key] && !extra[o[i].key] {
				return o[i].key, false
			}
			continue
		}
		if !mine.agrees(&o[i].set) {
			return o[i].key, false
		}
	}
	return "", true
}

// intersects reports whether no label that both restrict is left without a value.
func (n needs) intersects(o needs) bool {
	i, j := 0, 0
	for i < len(n) && j < len(o) {
		switch strings.Compare(n[i].key, o[j].key) {
		case -1:
			i++
		case 1:
			j++
		default:
			if a, b := &n[i].set, &o[j].set; !a.agrees(b) {
				return false
			}
			i++
			j++
		}
	}
	return true
}
