package kubefleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// shown are the fields of statuses that KubeFleet has too, in the order in which they are told, and who has not confirmed that
// it gave a placement up: before that nothing is over.
var shown = []string{
	"resourceSnapshotIndexUsed", "policyObservedClusterCount", "observedResourceIndex", "conditions", "unconfirmed", "selectedResources", "placementStatuses",
	"stagesStatus", "deletionStageStatus",
}

// statusText is a status for people: a condition a line, no times, and members of which the same is told together, with a * for
// the name of each.
func statusText(status map[string]any) string {
	if status == nil {
		return "no status"
	}
	var out []string
	for _, key := range shown {
		if value, there := status[key]; there {
			out = append(out, told(key, value)...)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// told is a field, its parts indented below it.
func told(key string, value any) []string {
	switch v := value.(type) {
	case []any:
		return listText(key, v)
	case map[string]any:
		if key == "condition" {
			return conditionsText([]any{v})
		}
		name, lines := entryText(v)
		return append([]string{key + ": " + name}, below(lines)...)
	}
	return []string{fmt.Sprintf("%s: %v", key, value)}
}

func below(lines []string) []string {
	out := make([]string, len(lines))
	for i := range lines {
		out[i] = "  " + lines[i]
	}
	return out
}

// titles are the fields that name an entry of a list.
var titles = []string{"clusterName", "stageName", "type", "name"}

func listText(key string, list []any) []string {
	switch key {
	case "conditions":
		return conditionsText(list)
	case "selectedResources", "applicableResourceOverrides":
		out := []string{key}
		for _, one := range list {
			out = append(out, "  "+identityText(one.(map[string]any)))
		}
		return out
	}
	out := []string{key}
	var names, body []string
	flush := func() {
		if len(names) > 0 {
			out = append(append(out, "  "+strings.Join(names, ", ")), below(below(body))...)
		}
		names = nil
	}
	for _, one := range list {
		name, lines := entryText(one)
		if slices.Contains(members, name) {
			for i := range lines {
				lines[i] = strings.ReplaceAll(lines[i], name, "*")
			}
		}
		if !slices.Equal(lines, body) {
			flush()
		}
		names, body = append(names, name), lines
	}
	flush()
	return out
}

// entryText is the name of an entry, and what else there is of it.
func entryText(one any) (string, []string) {
	fields, is := one.(map[string]any)
	if !is {
		return fmt.Sprint(one), nil
	}
	fields = maps.Clone(fields)
	for _, title := range titles {
		if name, there := fields[title]; there {
			delete(fields, title)
			return fmt.Sprint(name), bodyText(fields)
		}
	}
	return "nobody", bodyText(fields)
}

// untold are fields of parts of a status that are not KubeFleet's, or are times.
var untold = []string{"state", "since", "message", "startTime", "endTime", "firstDriftedObservedTime", "observationTime"}

func bodyText(fields map[string]any) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(untold, key) {
			out = append(out, told(key, fields[key])...)
		}
	}
	return out
}

func conditionsText(list []any) []string {
	var out []string
	for _, one := range list {
		c := one.(map[string]any)
		line := fmt.Sprintf("%v %v %v", c["type"], c["status"], c["reason"])
		if message, _ := c["message"].(string); message != "" {
			line += ": " + message
		}
		out = append(out, line)
	}
	return out
}

// identityText is "Kind namespace/name", and what envelope it lies in.
func identityText(of map[string]any) string {
	name := fmt.Sprint(of["name"])
	if namespace, there := of["namespace"]; there {
		name = fmt.Sprintf("%v/%s", namespace, name)
	}
	if kind, there := of["kind"]; there {
		name = fmt.Sprintf("%v %s", kind, name)
	}
	if envelope, there := of["envelope"].(map[string]any); there {
		name += fmt.Sprintf(" in %v %v", envelope["type"], envelope["name"])
	}
	return name
}

// fieldsText is what stands at JSON pointers of an object.
func fieldsText(object *unstructured.Unstructured, paths []string) string {
	if object == nil {
		return "nothing"
	}
	if len(paths) == 0 {
		return "there"
	}
	var out []string
	for _, path := range paths {
		var value any = object.Object
		for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			within, _ := value.(map[string]any)
			value = within[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err.Error()
		}
		out = append(out, string(text))
	}
	return strings.Join(out, " ")
}
