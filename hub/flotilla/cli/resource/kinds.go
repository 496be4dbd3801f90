package resource

import (
	"cmp"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// Type is one kind: the words for it on the command line, and what is done with its objects next.
type Type struct {
	api.Words
	// Word is the one that is typed in hints, the kind in small letters where it is empty; and List lists objects, Plural
	// where it is empty.
	Word, List string
	// Applied and Described are what to type, behind "flotilla", once an object was applied or described.
	Applied, Described func(Ref) string
}

// Kinds lists what has words of its own. Any other kind that the hub holds is addressed by its name
// in capitals, "Widget", or "Widget.v1.example.com".
var Kinds = typesOf(api.NamedKinds)

// told are what kinds have beside their words.
var told = map[string]Type{
	api.KindClusterResourcePlacement:    {Word: "placement", List: "placements", Applied: rollout, Described: why},
	api.KindResourcePlacement:           {Word: "rp", List: "rp", Applied: rollout, Described: why},
	api.KindClusterResourceOverride:     {Word: "override", Applied: always("get placements")},
	api.KindResourceOverride:            {Word: "ro", Applied: always("get placements")},
	api.KindEviction:                    {Word: "eviction", Applied: named("describe eviction")},
	api.KindDisruptionBudget:            {Word: "disruptionbudget", Applied: always("get placements")},
	api.KindMemberCluster:               {Word: "member", List: "members", Applied: always("get members"), Described: named("events --member")},
	api.KindClusterStagedUpdateRun:      {Word: "csur", Applied: named("run status"), Described: named("run status")},
	api.KindStagedUpdateRun:             {Word: "sur", Applied: within("run status"), Described: within("run status")},
	api.KindClusterStagedUpdateStrategy: {Word: "csus", Applied: always("get placements")},
	api.KindStagedUpdateStrategy:        {Word: "sus", Applied: always("get placements")},
	api.KindClusterApprovalRequest:      {Word: "careq", Applied: always("get csur")},
	api.KindApprovalRequest:             {Word: "areq", Applied: always("get csur")},
	api.KindUpdateRun:                   {Word: "run", Applied: named("run start"), Described: named("run status")},
	api.KindUpdateStrategy:              {Word: "strategy", Applied: always("run create --help"), Described: always("run create --help")},
	api.KindAutoUpgradeProfile:          {Word: "profile", Applied: always("get autoupgradeprofiles"), Described: named("run generate")},
	api.KindVersionCatalog:              {Word: "catalog", Applied: always("get versioncatalogs")},
	api.KindMemberMaintenance:           {Word: "maintenance", Applied: named("windows"), Described: named("windows")},
	api.KindRolloutCheck:                {Word: "rolloutcheck", Applied: always("get placements")},
	api.KindNodePool:                    {Applied: always("plan nodes"), Described: named("budgets")},
	api.KindInstanceCatalog:             {Applied: always("plan nodes")},
	api.KindMemberNode:                  {Word: "node", Described: onMember("plan nodes")},
	api.KindNodeDisruption:              {Word: "disruption", Described: onMember("get disruptions")},
}

func typesOf(all []api.Words) []Type {
	types := make([]Type, len(all))
	for i, words := range all {
		types[i] = told[words.Kind]
		types[i].Words = words
	}
	return types
}

// Known is a kind that has words of its own.
func Known(kind string) Type {
	return Kinds[slices.IndexFunc(Kinds, func(k Type) bool { return k.Kind == kind })]
}

// words returns every word that names the kind.
func (k *Type) words() []string {
	words := []string{k.Plural}
	if singular := strings.ToLower(k.Kind); singular != k.Plural {
		words = append(words, singular)
	}
	return append(words, k.Short...)
}

// Resource is "placements.group" as kubectl prints it before a slash and a name.
func (k *Type) Resource() string {
	if OnMembers(k.Kind) {
		return k.word()
	}
	group, _, found := strings.Cut(k.APIVersion, "/")
	if !found {
		return strings.ToLower(k.Kind)
	}
	return strings.ToLower(k.Kind) + "." + group
}

// word is the one that this command line uses for the kind when it tells the user what to type.
func (k *Type) word() string { return cmp.Or(k.Word, strings.ToLower(k.Kind)) }

// ShortWord is that of a kind of any group.
func ShortWord(kind string) string {
	k := Type{Words: api.Words{Kind: kind}}
	if i := slices.IndexFunc(Kinds, func(known Type) bool { return known.Kind == kind }); i >= 0 {
		k = Kinds[i]
	}
	return k.word()
}

// KindByWord resolves a word of the command line: "placements", "crp", "deployments.apps", or the
// name of any kind in capitals.
func KindByWord(word string) (Type, error) {
	lower := strings.ToLower(word)
	base, group, qualified := strings.Cut(lower, ".")
	for i := range Kinds {
		if !slices.Contains(Kinds[i].words(), base) {
			continue
		}
		if !qualified || strings.HasSuffix(groupVersion(group), GroupOf(Kinds[i].APIVersion)) {
			return Kinds[i], nil
		}
	}
	if k, ok := foreignKind(word); ok {
		return k, nil
	}
	if hint, foreign := elsewhere[base]; foreign {
		return Type{}, session.Usagef("%s", hint)
	}
	var all []string
	for i := range Kinds {
		all = append(all, Kinds[i].words()...)
	}
	return Type{}, session.Usagef("unknown kind %q%s", word, cmp.Or(session.Meant(session.Nearest(base, all)), "; a kind without a word of its own is named in capitals, Widget.v1.example.com"))
}

// elsewhere says where to look for what the hub does not hold as objects.
var elsewhere = map[string]string{
	"event": eventsHint, "events": eventsHint, "ev": eventsHint,
	"pod": podsHint, "pods": podsHint, "po": podsHint,
	"all": "there is no kind all: flotilla get placements,members, or flotilla status",
}

const (
	eventsHint = "events are no objects of the hub: flotilla events, or flotilla events placement/NAME"
	podsHint   = "the hub holds no pods: flotilla describe node/NAME -m MEMBER shows those of a node, kubectl on the member shows all"
)

// foreignKind reads Kind or Kind.version.group.
func foreignKind(word string) (Type, bool) {
	if word == "" || word[0] < 'A' || word[0] > 'Z' {
		return Type{}, false
	}
	kind, rest, _ := strings.Cut(word, ".")
	version, group, grouped := strings.Cut(rest, ".")
	apiVersion := version
	if grouped {
		apiVersion = group + "/" + version
	}
	return foreign(apiVersion, kind), true
}

// KindOfObject returns the row of a kind that an object carries.
func KindOfObject(apiVersion, kind string) Type {
	for i := range Kinds {
		if Kinds[i].Kind == kind && GroupOf(Kinds[i].APIVersion) == GroupOf(apiVersion) {
			k := Kinds[i]
			k.APIVersion = apiVersion
			return k
		}
	}
	return foreign(apiVersion, kind)
}

// foreign is a kind without words of its own.
func foreign(apiVersion, kind string) Type {
	return Type{Words: api.Words{APIVersion: apiVersion, Kind: kind, Plural: strings.ToLower(kind), Namespaced: true}}
}

// GroupOf is the group of an apiVersion, "" of the core group.
func GroupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// groupVersion turns "v1.apps" into "apps" and leaves "apps" alone.
func groupVersion(s string) string {
	version, group, found := strings.Cut(s, ".")
	if found && len(version) > 1 && version[0] == 'v' && version[1] >= '0' && version[1] <= '9' {
		return group
	}
	return s
}
