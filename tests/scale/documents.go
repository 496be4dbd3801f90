package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"flotilla/core/api"
)

// content is what one ConfigMap holds, in bytes.
const content = 1 << 10

// Labels of members and placements.
const (
	labelTenth  = "grp"
	labelRegion = "region"
	labelWave   = "wave"
)

func memberName(i int) string { return fmt.Sprintf("member-%05d", i) }

// member is the MemberCluster of the i-th member.
func member(i int) json.RawMessage {
	return encode(map[string]any{
		"apiVersion": api.GroupCluster + "/v1", "kind": api.KindMemberCluster,
		"metadata": map[string]any{"name": memberName(i), "labels": map[string]string{
			labelTenth: fmt.Sprintf("g%d", i%10), labelRegion: fmt.Sprintf("r%d", i%5),
		}},
	})
}

// placement is one that the rig applied.
type placement struct {
	number int
	to     string
	wave   string
	// members it is for, and how often its content was written.
	members, writes int
}

func (p *placement) name() string { return fmt.Sprintf("p-%05d", p.number) }

// documents are the placement with what it selects, as written for the writes-th time.
func (p *placement) documents() []json.RawMessage {
	return append(p.selected(), encode(map[string]any{
		"apiVersion": api.GroupPlacement + "/v1", "kind": api.KindClusterResourcePlacement,
		"metadata": map[string]any{"name": p.name(), "labels": map[string]string{labelWave: p.wave}},
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": p.name()}},
			"policy":            p.policy(),
			"strategy":          map[string]any{"rollingUpdate": map[string]any{"maxUnavailable": "100%", "maxSurge": "100%"}},
		},
	}))
}

func (p *placement) policy() map[string]any {
	required := func(terms ...any) map[string]any {
		return map[string]any{"clusterAffinity": map[string]any{
			"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"clusterSelectorTerms": terms},
		}}
	}
	switch p.to {
	case toTenth:
		tenth := map[string]any{labelTenth: fmt.Sprintf("g%d", p.number%10)}
		return map[string]any{"placementType": "PickAll", "affinity": required(map[string]any{"labelSelector": map[string]any{"matchLabels": tenth}})}
	case toRanked:
		most := map[string]any{"metricSorter": map[string]any{"name": "kubernetes.azure.com/node-count", "sortOrder": "Descending"}}
		return map[string]any{
			"placementType": "PickN", "numberOfClusters": p.members,
			"affinity": map[string]any{"clusterAffinity": map[string]any{
				"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{"weight": 20, "preference": most}},
			}},
		}
	}
	return map[string]any{"placementType": "PickAll"}
}

// selected are a namespace, a ConfigMap that differs from write to write, and a Deployment.
func (p *placement) selected() []json.RawMessage {
	labels := map[string]any{"app": "web"}
	return []json.RawMessage{
		encode(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": p.name()}}),
		encode(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": p.name()},
			"data": map[string]any{"text": noise(p.number, p.writes)},
		}),
		encode(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": p.name()},
			"spec": map[string]any{
				"replicas": 1, "selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{
					"metadata": map[string]any{"labels": labels},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:1"}}},
				},
			},
		}),
	}
}

// noise is a KiB of text that is the same for the same numbers.
func noise(number, write int) string {
	random := rand.New(rand.NewPCG(uint64(number), uint64(write)))
	bytes := make([]byte, content/2)
	for i := range bytes {
		bytes[i] = byte(random.Uint32())
	}
	return hex.EncodeToString(bytes)
}

func encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // literals
	}
	return text
}
