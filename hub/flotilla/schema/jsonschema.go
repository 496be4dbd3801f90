package schema

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// node is a JSON schema.
type node map[string]any

// JSON is the JSON schema (draft 7) of documents of a kind, for editors and validators.
func JSON(name string) map[string]any {
	root := Root(name)
	out := root.object(nil)
	out["$schema"] = "http://json-schema.org/draft-07/schema#"
	out["title"] = name
	if root.Text != "" {
		out["description"] = root.Text
	}
	return out
}

// object is the schema of a map with fields. Seen are the types around it: one inside itself may hold anything.
func (f Field) object(seen []reflect.Type) node {
	t := element(f.of)
	out := node{"type": "object"}
	if slices.Contains(seen, t) {
		return out
	}
	properties, required := node{}, []string{}
	for _, field := range f.Fields() {
		properties[field.Name] = field.schema(append(slices.Clip(seen), t), f.kind != "")
		if field.Required && own(t) || f.kind != "" && slices.Contains([]string{"apiVersion", "kind", "metadata"}, field.Name) {
			required = append(required, field.Name)
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = required
	}
	// Metadata may hold what the hub sets, which is ignored; of Kubernetes' own kinds newer fields may be known elsewhere.
	if own(t) && t != reflect.TypeFor[meta]() {
		out["additionalProperties"] = false
	}
	return out
}

// schema is that of a field; top says that it stands at the top of a document.
func (f Field) schema(seen []reflect.Type, top bool) node {
	out := f.shape(f.of, seen)
	if top && f.Name == "status" {
		out = node{"type": "object"}
	}
	if f.Text != "" {
		out["description"] = f.Text
	}
	if value, ok := f.defaultValue(); ok {
		out["default"] = value
	}
	return out
}

func (f Field) shape(t reflect.Type, seen []reflect.Type) node {
	if name := scalars[t]; name != "" {
		return f.scalar(name)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return f.shape(t.Elem(), seen)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return node{"type": "string"}
		}
		return node{"type": "array", "items": f.shape(t.Elem(), seen)}
	case reflect.Map:
		return node{"type": "object", "additionalProperties": f.shape(t.Elem(), seen)}
	case reflect.Struct:
		return Field{of: t, within: f.within}.object(seen)
	}
	return f.scalar(typeName(t))
}

func (f Field) scalar(name string) node {
	out := node{"type": name}
	switch name {
	case "any":
		return node{}
	case "time":
		out = node{"type": "string", "format": "date-time"}
	case "duration":
		out = node{"type": "string", "pattern": `^-?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`}
	case "integer or string":
		text := f.limited(node{"type": "string"}, true)
		return node{"anyOf": []node{f.limited(node{"type": "integer"}, false), text}}
	case "quantity", "number or string":
		return node{"anyOf": []node{{"type": "number"}, {"type": "string"}}}
	}
	return f.limited(out, out["type"] == "string")
}

// limited adds what a value must be beside its type.
func (f Field) limited(out node, text bool) node {
	if text && len(f.Enum) > 0 {
		out["enum"] = f.Enum
	}
	if text && f.Pattern != "" {
		out["pattern"] = f.Pattern
	}
	if !text && f.Min != nil {
		out["minimum"] = *f.Min
	}
	if !text && f.Max != nil {
		out["maximum"] = *f.Max
	}
	return out
}

// defaultValue is the default as a value, where what docs/objects.md says of it is one.
func (f Field) defaultValue() (any, bool) {
	text := strings.Trim(f.Default, "`\"")
	switch {
	case f.Default == "" || f.Type == "Object" || strings.HasPrefix(f.Type, "[]"):
		return nil, false
	case slices.Contains(f.Enum, text):
		return text, true
	case f.Type == "boolean" && (text == "true" || text == "false"):
		return text == "true", true
	case f.Type == "integer" || f.Type == "integer or string":
		if n, err := strconv.Atoi(text); err == nil {
			return n, true
		}
		return text, strings.HasSuffix(text, "%")
	}
	return nil, false
}
