package cli

import (
	"cmp"
	"slices"
	"strings"

	"flotilla/core/api"
)

// ref is one object that a command names.
type ref struct {
	resourceKind
	namespace string
	name      string
	member    string // of nodes, where it is known
}

func (r ref) object() api.ObjectRef {
	return api.ObjectRef{APIVersion: r.apiVersion, Kind: r.kind, Namespace: r.namespace, Name: r.name}
}

// String is "placement/web", the way the next command is typed.
func (r ref) String() string {
	s := shortWord(r.kind) + "/" + r.name
	if r.namespace != "" {
		s += " -n " + r.namespace
	}
	if r.member != "" {
		s += " -m " + r.member
	}
	return s
}

// refTo names an object that the hub named.
func refTo(o api.ObjectRef) ref {
	return ref{resourceKind: kindOfObject(o.APIVersion, o.Kind), namespace: o.Namespace, name: o.Name}
}

// isKnown says that the kind has words of its own on the command line.
func (r ref) isKnown() bool {
	return slices.ContainsFunc(kinds, func(k resourceKind) bool {
		return k.kind == r.kind && groupOf(k.apiVersion) == groupOf(r.apiVersion)
	})
}

func (r ref) isPlacement() bool {
	return r.kind == api.KindClusterResourcePlacement || r.kind == api.KindResourcePlacement
}

// listing is how objects beside this one are listed: "placements", "deployments -n shop", "nodes -m oslo".
func (r ref) listing() string {
	words := r.plural
	switch {
	case r.kind == api.KindClusterResourcePlacement:
		words = "placements"
	case r.kind == api.KindMemberCluster:
		words = "members"
	case r.kind == api.KindResourcePlacement:
		words = "rp"
	case !r.isKnown():
		words = r.kind
	}
	if r.namespace != "" {
		words += " -n " + r.namespace
	}
	if r.member != "" {
		words += " -m " + r.member
	}
	return words
}

// target is what the arguments of a command name: objects, or every object of some kinds.
type target struct {
	kinds []resourceKind // without names
	refs  []ref
	// explicit says that placements were not named by the word that means either kind of them.
	explicit bool
}

// parseTarget reads kubectl's three forms: TYPE[,TYPE…], TYPE NAME…, and TYPE/NAME….
func parseTarget(args []string, namespace string) (target, error) {
	var t target
	if len(args) == 0 {
		return t, usagef("name what you mean, TYPE, TYPE NAME or TYPE/NAME")
	}
	if strings.Contains(args[0], "/") {
		for _, arg := range args {
			word, name, found := strings.Cut(arg, "/")
			if !found || name == "" {
				return t, usagef("%q is not TYPE/NAME, as the arguments before it are", arg)
			}
			if err := t.add(word, name, namespace); err != nil {
				return t, err
			}
		}
		return t, nil
	}
	words := strings.Split(args[0], ",")
	t.explicit = !slices.ContainsFunc(words, isPlacementWord)
	if len(args) == 1 {
		for _, word := range words {
			k, err := kindByWord(word)
			if err != nil {
				return t, err
			}
			t.kinds = append(t.kinds, k)
		}
		return t, nil
	}
	for _, word := range words {
		for _, name := range args[1:] {
			if strings.Contains(name, "/") {
				return t, usagef("there is no need to write %q after the type %q: TYPE NAME or TYPE/NAME", name, args[0])
			}
			if err := t.add(word, name, namespace); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// parseTarget reads what a command that takes -m names; -m is for nodes alone, and node/MEMBER/NODE says
// the same.
func (a *Client) parseTarget(args []string) (target, error) {
	t, err := parseTarget(args, a.namespace)
	if err != nil {
		return t, err
	}
	if err := a.takeMember(t.refs...); err != nil || a.member == "" {
		return t, err
	}
	for _, k := range t.kinds {
		if !onMembers(k.kind) {
			return t, usagef("-m names the member that nodes and disruptions are of: %s are of no member", k.plural)
		}
	}
	for _, r := range t.refs {
		if !onMembers(r.kind) {
			return t, usagef("-m names the member that nodes and disruptions are of: %s is of none", r)
		}
	}
	return t, nil
}

func (t *target) add(word, name, namespace string) error {
	k, err := kindByWord(word)
	if err != nil {
		return err
	}
	t.refs = append(t.refs, makeRef(k, word, name, namespace))
	return nil
}

// takeMember takes a member that the names of nodes say for that of -m.
func (a *Client) takeMember(refs ...ref) error {
	for _, r := range refs {
		if r.member == "" {
			continue
		}
		if a.member != "" && a.member != r.member {
			return usagef("found member %s beside %s/%s/%s: one member at a time", a.member, shortWord(r.kind), r.member, r.name)
		}
		a.member = r.member
	}
	return nil
}

// makeRef gives a namespaced kind its namespace, and what is of a member its member. The word "placement"
// with a namespace, in the flag or in the name, means a ResourcePlacement.
func makeRef(k resourceKind, word, name, namespace string) ref {
	member := ""
	if before, rest, found := strings.Cut(name, "/"); found {
		namespace, member, name = before, before, rest
	}
	if isPlacementWord(word) && namespace != "" {
		k = kindOfObject(placementVersion, api.KindResourcePlacement)
	}
	r := ref{resourceKind: k, name: name}
	switch {
	case k.namespaced:
		r.namespace = cmp.Or(namespace, "default")
	case onMembers(k.kind):
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

// oneRef reads the arguments of a command that works on exactly one object.
func oneRef(args []string, namespace string) (ref, error) {
	t, err := parseTarget(args, namespace)
	if err != nil {
		return ref{}, err
	}
	if len(t.refs) != 1 {
		return ref{}, usagef("name one object, TYPE/NAME")
	}
	return t.refs[0], nil
}

// placementRef reads the one placement a command works on; a bare name will do.
func placementRef(args []string, namespace string) (ref, error) {
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		args = []string{"placement/" + args[0]}
	}
	r, err := oneRef(args, namespace)
	if err != nil {
		return ref{}, err
	}
	if !r.isPlacement() {
		return ref{}, usagef("%s is not a placement", r)
	}
	return r, nil
}

// memberName reads "member NAME", "member/NAME" or, when bare allows it, "NAME".
func memberName(args []string, bare bool) (string, error) {
	if bare && len(args) == 1 && !strings.Contains(args[0], "/") {
		return args[0], nil
	}
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		return "", usagef("found %q, expected member %s or member/%s", args[0], args[0], args[0])
	}
	r, err := oneRef(args, "")
	if err != nil {
		return "", err
	}
	if r.kind == api.KindMemberNode {
		return "", ownedByMember(r)
	}
	if r.kind != api.KindMemberCluster {
		return "", usagef("%s is not a member", r)
	}
	return r.name, nil
}

func nameOfKind(arg, kind, what string) (string, error) {
	if !strings.Contains(arg, "/") {
		return arg, nil
	}
	r, err := oneRef([]string{arg}, "")
	if err != nil {
		return "", err
	}
	if r.kind != kind {
		return "", usagef("%s is not %s", arg, what)
	}
	return r.name, nil
}
