package resource

import (
	"cmp"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/session"
)

// Ref is one object that a command names.
type Ref struct {
	Type
	Namespace string
	Name      string
	member    string // of nodes, where it is known
}

// Object is the object as requests name it.
func (r Ref) Object() api.ObjectRef {
	return api.ObjectRef{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// String is "placement/web", the way the next command is typed.
func (r Ref) String() string {
	s := r.word() + "/" + r.Name
	if r.Namespace != "" {
		s += " -n " + r.Namespace
	}
	if r.member != "" {
		s += " -m " + r.member
	}
	return s
}

// Named is an object of a kind that has words of its own.
func Named(kind, name string) Ref { return Ref{Type: Known(kind), Name: name} }

// RefTo names an object that the hub named.
func RefTo(o api.ObjectRef) Ref {
	return Ref{Type: KindOfObject(o.APIVersion, o.Kind), Namespace: o.Namespace, Name: o.Name}
}

// IsKnown says that the kind has words of its own on the command line.
func (r Ref) IsKnown() bool {
	return slices.ContainsFunc(Kinds, func(k Type) bool {
		return k.Kind == r.Kind && GroupOf(k.APIVersion) == GroupOf(r.APIVersion)
	})
}

// IsPlacement says that the object is a placement of either kind.
func (r Ref) IsPlacement() bool {
	return r.Kind == api.KindClusterResourcePlacement || r.Kind == api.KindResourcePlacement
}

// AuditName is the name under which the audit stream keeps events of the object.
func (r Ref) AuditName() string {
	token := validate.TokenOf(r.APIVersion, r.Kind)
	switch {
	case token != "":
	case r.APIVersion == api.VersionFlotilla:
		token = r.word()
	default:
		return api.AuditObject("object", r.Object().String())
	}
	return api.AuditObject(token, strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"))
}

// Listing is how objects beside this one are listed: "placements", "deployments -n shop", "nodes -m oslo".
func (r Ref) Listing() string {
	words := cmp.Or(r.List, r.Plural)
	if !r.IsKnown() {
		words = r.Kind
	}
	if r.Namespace != "" {
		words += " -n " + r.Namespace
	}
	if r.member != "" {
		words += " -m " + r.member
	}
	return words
}

// Target is what the arguments of a command name: objects, or every object of some kinds.
type Target struct {
	Kinds []Type // without names
	Refs  []Ref
	// Explicit says that placements were not named by the word that means either kind of them.
	Explicit bool
}

// ParseTarget reads kubectl's three forms: TYPE[,TYPE…], TYPE NAME…, and TYPE/NAME….
func ParseTarget(args []string, namespace string) (Target, error) {
	var t Target
	if len(args) == 0 {
		return t, session.Usagef("name what you mean, TYPE, TYPE NAME or TYPE/NAME")
	}
	if strings.Contains(args[0], "/") {
		for _, arg := range args {
			word, name, found := strings.Cut(arg, "/")
			if !found || name == "" {
				return t, session.Usagef("%q is not TYPE/NAME, as the arguments before it are", arg)
			}
			if err := t.add(word, name, namespace); err != nil {
				return t, err
			}
		}
		return t, nil
	}
	words := strings.Split(args[0], ",")
	t.Explicit = !slices.ContainsFunc(words, isPlacementWord)
	if len(args) == 1 {
		for _, word := range words {
			k, err := KindByWord(word)
			if err != nil {
				return t, err
			}
			t.Kinds = append(t.Kinds, k)
		}
		return t, nil
	}
	for _, word := range words {
		for _, name := range args[1:] {
			if strings.Contains(name, "/") {
				return t, session.Usagef("there is no need to write %q after the type %q: TYPE NAME or TYPE/NAME", name, args[0])
			}
			if err := t.add(word, name, namespace); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// ParseTarget reads what a command that takes -m names; -m is for nodes alone, and node/MEMBER/NODE says
// the same.
func (a *Client) ParseTarget(args []string) (Target, error) {
	t, err := ParseTarget(args, a.Namespace)
	if err != nil {
		return t, err
	}
	if err := a.TakeMember(t.Refs...); err != nil || a.Member == "" {
		return t, err
	}
	for _, k := range t.Kinds {
		if !OnMembers(k.Kind) {
			return t, session.Usagef("-m names the member that nodes and disruptions are of: %s are of no member", k.Plural)
		}
	}
	for _, r := range t.Refs {
		if !OnMembers(r.Kind) {
			return t, session.Usagef("-m names the member that nodes and disruptions are of: %s is of none", r)
		}
	}
	return t, nil
}

func (t *Target) add(word, name, namespace string) error {
	k, err := KindByWord(word)
	if err != nil {
		return err
	}
	t.Refs = append(t.Refs, makeRef(k, word, name, namespace))
	return nil
}

// TakeMember takes a member that the names of nodes say for that of -m.
func (a *Client) TakeMember(refs ...Ref) error {
	for _, r := range refs {
		if r.member == "" {
			continue
		}
		if a.Member != "" && a.Member != r.member {
			return session.Usagef("found member %s beside %s/%s/%s: one member at a time", a.Member, r.word(), r.member, r.Name)
		}
		a.Member = r.member
	}
	return nil
}

// makeRef gives a namespaced kind its namespace, and what is of a member its member. The word "placement"
// with a namespace, in the flag or in the name, means a ResourcePlacement.
func makeRef(k Type, word, name, namespace string) Ref {
	member := ""
	if before, rest, found := strings.Cut(name, "/"); found {
		namespace, member, name = before, before, rest
	}
	if isPlacementWord(word) && namespace != "" {
		k = Known(api.KindResourcePlacement)
	}
	r := Ref{Type: k, Name: name}
	switch {
	case k.Namespaced:
		r.Namespace = cmp.Or(namespace, "default")
	case OnMembers(k.Kind):
		r.member = member
	}
	return r
}

func isPlacementWord(word string) bool {
	switch strings.ToLower(word) {
	case "placement", "placements", "p":
		return true
	}
	return false
}

// OneRef reads the arguments of a command that works on exactly one object.
func OneRef(args []string, namespace string) (Ref, error) {
	t, err := ParseTarget(args, namespace)
	if err != nil {
		return Ref{}, err
	}
	if len(t.Refs) != 1 {
		return Ref{}, session.Usagef("name one object, TYPE/NAME")
	}
	return t.Refs[0], nil
}

// PlacementRef reads the one placement a command works on; a bare name will do.
func PlacementRef(args []string, namespace string) (Ref, error) {
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		args = []string{"placement/" + args[0]}
	}
	r, err := OneRef(args, namespace)
	if err != nil {
		return Ref{}, err
	}
	if !r.IsPlacement() {
		return Ref{}, session.Usagef("%s is not a placement", r)
	}
	return r, nil
}

// MemberName reads "member NAME", "member/NAME" or, when bare allows it, "NAME".
func MemberName(args []string, bare bool) (string, error) {
	if bare && len(args) == 1 && !strings.Contains(args[0], "/") {
		return args[0], nil
	}
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		return "", session.Usagef("found %q, expected member %s or member/%s", args[0], args[0], args[0])
	}
	r, err := OneRef(args, "")
	if err != nil {
		return "", err
	}
	if r.Kind == api.KindMemberNode {
		return "", OwnedByMember(r)
	}
	if r.Kind != api.KindMemberCluster {
		return "", session.Usagef("%s is not a member", r)
	}
	return r.Name, nil
}

// NameOfKind reads NAME or TYPE/NAME of a kind.
func NameOfKind(arg, kind, what string) (string, error) {
	if !strings.Contains(arg, "/") {
		return arg, nil
	}
	r, err := OneRef([]string{arg}, "")
	if err != nil {
		return "", err
	}
	if r.Kind != kind {
		return "", session.Usagef("%s is not %s", arg, what)
	}
	return r.Name, nil
}
