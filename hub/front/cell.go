package front

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// or is a value of an object, another where there is none.
func or(value func(map[string]any) any, other string) func(map[string]any) any {
	return func(o map[string]any) any {
		if found := value(o); found != nil {
			return found
		}
		return other
	}
}

// selector is how an object chooses others by their labels.
func selector(path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		chosen, _, _ := unstructured.NestedStringMap(o, path...)
		if len(chosen) == 0 {
			return "<none>"
		}
		return labels.Set(chosen).String()
	}
}

// containers is a field of each container that a template has.
func containers(field string) func(map[string]any) any {
	return func(o map[string]any) any {
		return joined(o, func(c map[string]any) string { return fmt.Sprint(c[field]) }, "spec", "template", "spec", "containers")
	}
}

// ports are those of a Service, as "80:30080/TCP".
func ports(o map[string]any) any {
	if all := joined(o, port, "spec", "ports"); all != "" {
		return all
	}
	return "<none>"
}

func port(p map[string]any) string {
	text, protocol := fmt.Sprint(p["port"]), "TCP"
	if node := p["nodePort"]; node != nil {
		text += fmt.Sprintf(":%v", node)
	}
	if named, is := p["protocol"].(string); is {
		protocol = named
	}
	return text + "/" + protocol
}

// joined is a text of each entry of a list, with commas between them.
func joined(o map[string]any, text func(map[string]any) string, path ...string) string {
	list, _, _ := unstructured.NestedSlice(o, path...)
	var all []string
	for _, one := range list {
		if m, is := one.(map[string]any); is {
			all = append(all, text(m))
		}
	}
	return strings.Join(all, ",")
}
