package deed

import (
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/phrase"
)

// JoiningOf is what somebody sees who looks at a member that wants to join.
func JoiningOf(status *api.MemberClusterStatus) *api.Joining {
	seen := &api.Joining{New: true, Offered: append([]string{}, slices.Sorted(maps.Keys(status.OfferedLabels))...)}
	if status.Credentials != nil {
		seen.Key = status.Credentials.Key
	}
	return seen
}

// Joins tells of a member that wants to join by which key its agent is known, and which labels it asks for.
func Joins(status *api.MemberClusterStatus) []string {
	key := "its agent registered no key: others made its credentials, or its token was not used"
	if seen := JoiningOf(status); seen.Key != "" {
		key = "its agent is known by key " + seen.Key + ", which the agent logs when it enrols"
	}
	asks := "its agent asks for no labels"
	if labels := overview.Pairs(status.OfferedLabels); len(labels) > 0 {
		asks = "its agent asks for labels, and may set them: " + phrase.Enumerate(labels)
	}
	return []string{key, asks}
}
