package crowd

import (
	"encoding/json"
	"fmt"

	"flotilla/core/api"
)

// Placements that every fleet has, beside those that fill it up.
const (
	everywhere = "web"     // on all members, in trouble on some
	pinned     = "api"     // is on an earlier revision than it selects
	withheld   = "ledger"  // has a withdrawal that is held
	staged     = "teashop" // goes out by a staged run
	paused     = "search"  // moves no member, where there are more than four
)

// stock is what the withheld one no longer selects.
const stock = "stock"

// labelled are terms that a selector of members requires.
type labelled map[string]string

// app is a placement with what it selects.
type app struct {
	number int
	name   string
	// revision is what is written into its content.
	revision int
	// selects are namespaces, its own when empty.
	selects []string
	policy  map[string]any
	// step is maxUnavailable; external goes out by runs.
	step     string
	external bool
}

// apps plans the placements of a fleet.
func apps(o Options, members []*member) []*app {
	all := make([]*app, o.Placements)
	for i := range all {
		all[i] = newApp(i, o, members)
	}
	return all
}

func newApp(i int, o Options, members []*member) *app {
	a := &app{number: i, name: fmt.Sprintf("%s-%04d", []string{"cart", "mail", "maps", "feed", "jobs", "auth", "ads", "img"}[i%8], i), step: "100%"}
	switch {
	case i == 0:
		a.name, a.policy = everywhere, pickAll(nil)
	case i == 1:
		a.name, a.policy = pinned, pickN(min(5, o.Members/3), nil)
	case i == 2:
		a.name, a.policy, a.selects = withheld, pickFixed(ready(members, 0, 2)), []string{withheld, stock}
	case i == 3:
		a.name, a.policy, a.external = staged, staging(), true
	case i == 4:
		a.name, a.policy = paused, pickN(5, nil)
	case i == 5:
		a.policy = pickN(20, labelled{"tier": "platinum"}) // which no member is
	case i%100 == 6:
		a.policy = pickAll(labelled{"topology.kubernetes.io/region": places[len(places)-1-i/100%4].region})
	case i%10 == 7:
		a.policy = pickFixed(ready(members, i*13, 3))
	case i%10 == 8:
		a.policy, a.step = spread(pickN(6, labelled{"env": "prod"})), "25%"
	default:
		a.policy = pickN(2+i%7, labelled{"tier": []string{"gold", "silver", "bronze"}[i%3]})
	}
	return a
}

// ready are so many names of members that are well, from one on.
func ready(members []*member, from, count int) (names []string) {
	for i := range members {
		if m := members[(from+i)%len(members)]; m.part == partReady && len(names) < count {
			names = append(names, m.name)
		}
	}
	return names
}

func pickAll(required labelled) map[string]any {
	return requiring(map[string]any{"placementType": "PickAll"}, required)
}

// pickN prefers members in production that have many nodes.
func pickN(n int, required labelled) map[string]any {
	policy := requiring(map[string]any{"placementType": "PickN", "numberOfClusters": n}, required)
	policy["affinity"].(map[string]any)["clusterAffinity"].(map[string]any)["preferredDuringSchedulingIgnoredDuringExecution"] = []any{
		map[string]any{"weight": 20, "preference": map[string]any{"labelSelector": map[string]any{"matchLabels": labelled{"env": "prod"}}}},
	}
	return policy
}

func pickFixed(names []string) map[string]any {
	return map[string]any{"placementType": "PickFixed", "clusterNames": names}
}

// spread wants members in different regions.
func spread(policy map[string]any) map[string]any {
	policy["topologySpreadConstraints"] = []any{
		map[string]any{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/region", "whenUnsatisfiable": "ScheduleAnyway"},
	}
	return policy
}

// staging is all members of the first two waves.
func staging() map[string]any {
	return affine(map[string]any{"placementType": "PickAll"}, map[string]any{"matchExpressions": []any{
		map[string]any{"key": "wave", "operator": "In", "values": []string{waveCanary, waveStaging}},
	}})
}

func requiring(policy map[string]any, required labelled) map[string]any {
	if len(required) == 0 {
		policy["affinity"] = map[string]any{"clusterAffinity": map[string]any{}}
		return policy
	}
	return affine(policy, map[string]any{"matchLabels": required})
}

func affine(policy, selector map[string]any) map[string]any {
	policy["affinity"] = map[string]any{"clusterAffinity": map[string]any{
		"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"clusterSelectorTerms": []any{map[string]any{"labelSelector": selector}}},
	}}
	return policy
}

// placement is the placement itself.
func (a *app) placement() json.RawMessage {
	selectors := []any{}
	for _, namespace := range a.namespaces() {
		selectors = append(selectors, map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": namespace})
	}
	strategy := map[string]any{"type": "External"}
	if !a.external {
		strategy = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": a.step, "maxSurge": a.step, "unavailablePeriodSeconds": 1}}
	}
	metadata := map[string]any{"name": a.name, "labels": map[string]string{"app": a.name}}
	if a.number%50 == 0 {
		metadata["annotations"] = map[string]string{"crowd.example.com/runbook": `https://example.com/"><script>alert(1)</script>`}
	}
	return encode(map[string]any{
		"apiVersion": api.GroupPlacement + "/v1", "kind": api.KindClusterResourcePlacement, "metadata": metadata,
		"spec": map[string]any{"resourceSelectors": selectors, "policy": a.policy, "strategy": strategy},
	})
}

func (a *app) namespaces() []string {
	if len(a.selects) > 0 {
		return a.selects
	}
	return []string{a.name}
}

// content is what the placement selects: a namespace, settings that differ by revision, and a Deployment; the namespace
// that is to be withheld has many objects.
func (a *app) content() []json.RawMessage {
	documents := []json.RawMessage{
		encode(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": a.name}}),
		a.settings(), a.deployment(),
	}
	for _, namespace := range a.selects {
		if namespace == a.name {
			continue
		}
		documents = append(documents, encode(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}))
		for i := range 30 {
			documents = append(documents, encode(map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("item-%02d", i), "namespace": namespace},
				"data": map[string]string{"n": number(int64(i))},
			}))
		}
	}
	return documents
}

func (a *app) settings() json.RawMessage {
	return encode(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": a.name},
		"data": map[string]string{"revision": number(int64(a.revision)), "banner": markup},
	})
}

func (a *app) deployment() json.RawMessage {
	labels := map[string]any{"app": a.name}
	return encode(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": a.name},
		"spec": map[string]any{
			"replicas": 3, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "web", "image": "web:1", "resources": map[string]any{"requests": map[string]string{"cpu": "200m", "memory": "256Mi"}},
				}}},
			},
		},
	})
}
