package health

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// SharedClusters are the problems of members whose agents report the same cluster; clusters are their ids by member, empty where an agent
// reports none.
func SharedClusters(clusters map[string]string) (problems []api.Problem) {
	sharers := map[string][]string{}
	for _, member := range slices.Sorted(maps.Keys(clusters)) {
		if id := clusters[member]; id != "" {
			sharers[id] = append(sharers[id], member)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sharers)) {
		members := sharers[id]
		if len(members) < 2 {
			continue
		}
		message := fmt.Sprintf("the agents of %s report the same cluster, %s: it belongs to one of them at most", phrase.Enumerate(members), id)
		problems = append(problems, memberProblem(members[0], ReasonSharedCluster, message, metav1.Time{}))
	}
	return problems
}
