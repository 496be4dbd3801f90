package deed

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// Command is the command line that does something to an object: words are those of the command, as in "rollout pause", object is
// as events name it or empty, more are flags and arguments. A shell takes each for one word, whatever it holds.
func Command(words, object string, more ...string) string {
	kind, key, _ := strings.Cut(object, "/")
	namespace, name, inside := strings.Cut(key, "/")
	if !inside {
		name = namespace
	}
	about := []string{name}
	switch {
	case kind == api.AuditPlacement && inside:
		about = []string{"rp/" + name}
	case kind == api.AuditPlacement:
		about = []string{api.AuditObject(api.AuditPlacement, name)}
	case object == "", kind == "fleet" && name == api.FreezeFleet:
		about = nil
	case kind == api.AuditMember && slices.Contains(bare, words):
	case kind == api.AuditMember:
		about = []string{"member", name}
	}
	about = append(about, more...)
	if inside {
		about = append(about, "-n", namespace)
	}
	for i := range about {
		about[i] = shellWord(about[i])
	}
	return strings.Join(append([]string{"flotilla", words}, about...), " ")
}

// PlacementRef names the placement of a key, "web" or "shop/web".
func PlacementRef(key string) api.ObjectRef {
	if namespace, name, inside := strings.Cut(key, "/"); inside {
		return api.ObjectRef{APIVersion: api.GroupPlacement + "/v1beta1", Kind: api.KindResourcePlacement, Namespace: namespace, Name: name}
	}
	return api.ObjectRef{APIVersion: api.GroupPlacement + "/v1beta1", Kind: api.KindClusterResourcePlacement, Name: key}
}

// bare are the commands that take the name of a member alone.
var bare = []string{"member admit", "member revoke", "approve withdrawal"}

// shellWord is a word as a shell takes it for one.
func shellWord(word string) string {
	special := func(c rune) bool {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !plain && !strings.ContainsRune("-_./,:=@+", c)
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Events is the command line that shows the events that are asked for.
func Events(ask *api.EventsRequest) string {
	object := ask.Object
	kind, key, _ := strings.Cut(object, "/")
	first, second, inside := strings.Cut(key, "/")
	words := []string{object}
	switch {
	case object == "":
		words = nil
	case kind == "object" && strings.Count(key, "/") == 2:
		namespace, name, _ := strings.Cut(second, "/")
		words = []string{strings.ToLower(first) + "/" + name, "-n", namespace}
	case kind == "object" && inside:
		words = []string{strings.ToLower(first) + "/" + second}
	case kind == api.AuditPlacement && inside:
		words = []string{"rp/" + second, "-n", first}
	case kind == api.AuditRun && inside:
		words = []string{api.AuditObject(api.AuditRun, second), "-n", first}
	}
	for _, flag := range [][2]string{{"--member", ask.Member}, {"--by", ask.By}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	for i := range words {
		words[i] = shellWord(words[i])
	}
	return strings.Join(append([]string{"flotilla events"}, words...), " ")
}
