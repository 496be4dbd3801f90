package capacity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// Set is what the value of a label may be: one of values, or anything but values, within bounds.
// The zero set is empty: the label may not exist.
type Set struct {
	Values   []string // sorted
	Anything bool     // all but values
	Above    int64    // exclusive bounds of a number, when bounded
	Below    int64
	Bounded  bool
}

// OneValue is the set of one value.
func OneValue(v string) Set { return Set{Values: []string{v}} }

// AnyValue asks for the label, whatever its value.
var AnyValue = Set{Anything: true}

// SetOf reads one requirement, of a node selector or of a pool.
func SetOf(operator string, values []string) Set {
	sorted := slices.Compact(slices.Sorted(slices.Values(values)))
	number := func() int64 {
		n, _ := strconv.ParseInt(strings.Join(values, ""), 10, 64)
		return n
	}
	switch operator {
	case "In":
		return Set{Values: sorted}
	case "NotIn":
		return Set{Values: sorted, Anything: true}
	case "Exists":
		return AnyValue
	case "Gt":
		return Set{Anything: true, Bounded: true, Above: number(), Below: math.MaxInt64}
	case "Gte":
		return Set{Anything: true, Bounded: true, Above: number() - 1, Below: math.MaxInt64}
	case "Lt":
		return Set{Anything: true, Bounded: true, Above: math.MinInt64, Below: number()}
	case "Lte":
		return Set{Anything: true, Bounded: true, Above: math.MinInt64, Below: number() + 1}
	default:
		return Set{}
	}
}

// Has reports whether a value will do.
func (s *Set) Has(v string) bool {
	if _, found := slices.BinarySearch(s.Values, v); found == s.Anything {
		return false
	}
	return s.within(v)
}

func (s *Set) within(v string) bool {
	if !s.Bounded {
		return true
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return err == nil && n > s.Above && n < s.Below
}

// None reports that no value will do.
func (s *Set) None() bool {
	if s.Anything {
		return s.hollow()
	}
	return len(s.Values) == 0
}

// hollow reports bounds that no whole number is between.
func (s *Set) hollow() bool { return s.Bounded && (s.Above >= s.Below || s.Above == s.Below-1) }

// Lenient reports a set that is content with a label that does not exist: NotIn and DoesNotExist.
func (s *Set) Lenient() bool {
	return s.Anything && len(s.Values) > 0 && !s.Bounded || !s.Anything && len(s.Values) == 0
}

func (s *Set) and(o *Set) Set {
	out := Set{Anything: s.Anything && o.Anything, Bounded: s.Bounded || o.Bounded, Above: math.MinInt64, Below: math.MaxInt64}
	for _, b := range []*Set{s, o} {
		if b.Bounded {
			out.Above, out.Below = max(out.Above, b.Above), min(out.Below, b.Below)
		}
	}
	switch {
	case out.Anything:
		out.Values = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(s.Values), o.Values...))))
		return out
	case s.Anything:
		s, o = o, s
	}
	for _, v := range s.Values {
		if o.Has(v) && out.within(v) {
			out.Values = append(out.Values, v)
		}
	}
	out.Bounded = false
	return out
}

// meets reports whether two sets share a value.
func (s *Set) meets(o *Set) bool {
	if s.Anything && o.Anything {
		both := s.and(o)
		return !both.hollow()
	}
	if s.Anything {
		s, o = o, s
	}
	return slices.ContainsFunc(s.Values, o.Has)
}

// agrees reports whether two restrictions of one label can both hold: they share a value, or neither
// minds its absence.
func (s *Set) agrees(o *Set) bool { return s.meets(o) || s.Lenient() && o.Lenient() }

// String is "in a, b", "not in a" or "any".
func (s *Set) String() string {
	switch {
	case s.Anything && len(s.Values) == 0 && !s.Bounded:
		return "any"
	case s.Anything && !s.Bounded:
		return "not in " + strings.Join(s.Values, ", ")
	case s.Bounded:
		return "above " + strconv.FormatInt(s.Above, 10) + ", below " + strconv.FormatInt(s.Below, 10)
	case len(s.Values) == 0:
		return "none"
	default:
		return "in " + strings.Join(s.Values, ", ")
	}
}

// Need restricts one label.
type Need struct {
	Key string
	Set Set
}

// Needs are sorted by key, each key once. They are never changed in place.
type Needs []Need

// Get is what a label may be, nil for anything.
func (n Needs) Get(key string) *Set {
	for i := range n {
		if n[i].Key == key {
			return &n[i].Set
		}
	}
	return nil
}

// With returns n and one more restriction.
func (n Needs) With(key string, s Set) Needs {
	i, found := slices.BinarySearchFunc(n, key, func(a Need, k string) int { return strings.Compare(a.Key, k) })
	out := slices.Clone(n)
	if found {
		out[i].Set = n[i].Set.and(&s)
		return out
	}
	return slices.Insert(out, i, Need{key, s})
}

// WithAll returns n and the restrictions of o.
func (n Needs) WithAll(o Needs) Needs {
	for i := range o {
		n = n.With(o[i].Key, o[i].Set)
	}
	return n
}

// NeedsOfLabels asks for labels as they are.
func NeedsOfLabels(labels map[string]string) Needs {
	out := make(Needs, 0, len(labels))
	for k, v := range labels {
		out = append(out, Need{CanonicalLabel(k), OneValue(v)})
	}
	slices.SortFunc(out, func(a, b Need) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// NeedsOfTerm are the restrictions of one term of a node affinity.
func NeedsOfTerm(term *corev1.NodeSelectorTerm) Needs {
	var out Needs
	for i := range term.MatchExpressions {
		e := &term.MatchExpressions[i]
		out = out.With(CanonicalLabel(e.Key), SetOf(string(e.Operator), e.Values))
	}
	for i := range term.MatchFields {
		e := &term.MatchFields[i]
		if e.Key == "metadata.name" {
			out = out.With(corev1.LabelHostname, SetOf(string(e.Operator), e.Values))
		}
	}
	return out
}

// Aliases are older names of labels.
var Aliases = map[string]string{
	"failure-domain.beta.kubernetes.io/zone":   corev1.LabelTopologyZone,
	"failure-domain.beta.kubernetes.io/region": corev1.LabelTopologyRegion,
	"beta.kubernetes.io/arch":                  corev1.LabelArchStable,
	"beta.kubernetes.io/os":                    corev1.LabelOSStable,
	"beta.kubernetes.io/instance-type":         corev1.LabelInstanceTypeStable,
}

// CanonicalLabel is the name of today of a label.
func CanonicalLabel(key string) string {
	if k, ok := Aliases[key]; ok {
		return k
	}
	return key
}

// WellKnown are labels that a new node gets whether or not its pool says so.
var WellKnown = map[string]bool{
	api.LabelNodePool: true, api.LabelCapacityType: true, corev1.LabelTopologyZone: true, corev1.LabelTopologyRegion: true,
	corev1.LabelInstanceTypeStable: true, corev1.LabelArchStable: true, corev1.LabelOSStable: true,
	"node.kubernetes.io/windows-build": true, corev1.LabelHostname: true,
}

// Admits reports whether a node with exactly these labels satisfies n.
func (n Needs) Admits(labels map[string]string, hostname string) bool {
	for i := range n {
		v, ok := labels[n[i].Key]
		if n[i].Key == corev1.LabelHostname {
			v, ok = hostname, true
		}
		switch s := &n[i].Set; {
		case !ok && !s.Lenient(), ok && !s.Has(v):
			return false
		}
	}
	return true
}

// Allows reports whether a node yet to be made under n could satisfy o; the key in the way otherwise.
func (n Needs) Allows(o Needs, extra map[string]bool) (string, bool) {
	for i := range o {
		mine := n.Get(o[i].Key)
		if mine == nil {
			if !o[i].Set.Lenient() && !WellKnown[o[i].Key] && !extra[o[i].Key] {
				return o[i].Key, false
			}
			continue
		}
		if !mine.agrees(&o[i].Set) {
			return o[i].Key, false
		}
	}
	return "", true
}

// Intersects reports whether no label that both restrict is left without a value.
func (n Needs) Intersects(o Needs) bool {
	i, j := 0, 0
	for i < len(n) && j < len(o) {
		switch strings.Compare(n[i].Key, o[j].Key) {
		case -1:
			i++
		case 1:
			j++
		default:
			if a, b := &n[i].Set, &o[j].Set; !a.agrees(b) {
				return false
			}
			i++
			j++
		}
	}
	return true
}

// shownValues is how many values of a label a text names.
const shownValues = 5

// Brief is a need in a few words, "kubernetes.io/arch in arm64".
func (n *Need) Brief() string {
	s := n.Set
	more := len(s.Values) - shownValues
	if more <= 0 {
		return n.Key + " " + s.String()
	}
	s.Values = s.Values[:shownValues]
	return fmt.Sprintf("%s %s and %d more", n.Key, s.String(), more)
}
