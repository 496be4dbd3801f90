package overview

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// What a member may be beside its state.
const (
	cordoned = "Cordoned"
	draining = "Draining"
)

// stateWords are what state= may ask for.
var stateWords = []string{
	string(api.MemberReady), string(api.MemberNotReady), string(api.MemberUnknown), string(api.MemberJoining), string(api.MemberLeaving), cordoned, draining,
}

func signWords() (words []string) {
	for _, s := range Signs() {
		words = append(words, s.String())
	}
	return words
}

// Filter returns the members that a query holds of, in their order.
func Filter(members []Member, q Query) []*Member {
	kept := make([]*Member, 0, len(members))
	for i := range members {
		if q.Holds(&members[i]) {
			kept = append(kept, &members[i])
		}
	}
	return kept
}

// Holds says whether all that the query asks holds of a member.
func (q Query) Holds(m *Member) bool {
	for i := range q.terms {
		if t := &q.terms[i]; t.holds(m) == t.not {
			return false
		}
	}
	return true
}

func (t *term) holds(m *Member) bool {
	switch t.field {
	case "":
		return contains(m.Name, t.values[0]) || contains(m.Region, t.values[0]) || contains(m.Zone, t.values[0]) ||
			contains(m.Version, t.values[0]) || contains(m.Message, t.values[0])
	case "label":
		value, found := m.Labels[t.key]
		return found && (t.values == nil || t.among(value))
	case "state":
		return t.among(string(m.Shown())) || m.Cordoned && t.among(cordoned) || m.Draining && t.among(draining)
	case "version":
		return slices.ContainsFunc(t.values, func(v string) bool { return ofVersion(m.Version, v) })
	case "sign":
		return t.among(m.Sign().String())
	}
	return t.among(m.value(t.field))
}

// among says that a value is one of those that are asked for.
func (t *term) among(value string) bool {
	for _, v := range t.values {
		if strings.EqualFold(v, value) {
			return true
		}
	}
	return false
}

// ofVersion says that a version is the one that is wanted, or one of its patches: "v1.31.2" is of "1.31".
func ofVersion(version, wanted string) bool {
	version, wanted = strings.TrimPrefix(strings.ToLower(version), "v"), strings.TrimPrefix(wanted, "v")
	rest, begins := strings.CutPrefix(version, wanted)
	return begins && (rest == "" || wanted != "" && rest[0] == '.')
}

// contains says that a text contains another, which is in lower case. Texts are in lower case mostly.
func contains(text, lower string) bool {
	return strings.Contains(text, lower) || strings.Contains(strings.ToLower(text), lower)
}

// value is a field of a member, or the value of a label where by is none: what members are grouped by.
func (m *Member) value(by string) string {
	switch by {
	case "name":
		return m.Name
	case "region":
		return m.Region
	case "zone":
		return m.Zone
	case "version":
		return m.Version
	case "state":
		return string(m.Shown())
	case "sign":
		return m.Sign().String()
	}
	return m.Labels[strings.TrimPrefix(by, "label:")]
}
