package front

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// models are the shapes of types as OpenAPI says them, made of the types themselves: their fields, what these are told to be for,
// and, of kinds of Kubernetes, how lists of theirs merge.
type models struct {
	schemas map[string]*spec.Schema
	merges  *smd.Schema
}

func newModels() *models { return &models{schemas: map[string]*spec.Schema{}, merges: mergeSchema()} }

// mergeSchema is how the kinds of Kubernetes merge.
func mergeSchema() *smd.Schema {
	any := &unstructured.Unstructured{}
	any.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	value, err := builtInTypes.ObjectToTyped(any)
	if err != nil {
		return &smd.Schema{}
	}
	return value.Schema()
}

// How types say what they are in OpenAPI.
type (
	named interface{ OpenAPIModelName() string }
	plain interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}
	either    interface{ OpenAPIV3OneOfTypes() []string }
	explained interface{ SwaggerDoc() map[string]string }
)

// nameOf is the name of the model of a type.
func nameOf(t reflect.Type) string {
	if n, is := reflect.TypeAssert[named](reflect.Zero(t)); is {
		return n.OpenAPIModelName()
	}
	return strings.ReplaceAll(strings.ReplaceAll(t.PkgPath(), "/", "."), "_", "") + "." + t.Name()
}

// of is the schema of a type; that of a struct is a reference to its model.
func (m *models) of(t reflect.Type) *spec.Schema {
	if made := scalar(t); made != nil {
		return made
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.of(t.Elem())
	case reflect.Map:
		return spec.MapProperty(m.of(t.Elem()))
	case reflect.Slice, reflect.Array:
		return spec.ArrayProperty(m.of(t.Elem()))
	case reflect.Struct:
		return spec.RefSchema("#/components/schemas/" + m.add(t))
	}
	return anything()
}

// scalar is the schema of what has no parts, nil of what has.
func scalar(t reflect.Type) *spec.Schema {
	value := reflect.New(t).Interface()
	if p, is := value.(plain); is {
		made := &spec.Schema{SchemaProps: spec.SchemaProps{Type: p.OpenAPISchemaType(), Format: p.OpenAPISchemaFormat()}}
		if e, is := value.(either); is {
			made.Type = nil
			for _, one := range e.OpenAPIV3OneOfTypes() {
				made.OneOf = append(made.OneOf, spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{one}}})
			}
		}
		return made
	}
	switch t.Kind() {
	case reflect.String:
		return spec.StringProperty()
	case reflect.Bool:
		return spec.BoolProperty()
	case reflect.Int32, reflect.Uint32:
		return spec.Int32Property()
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint8, reflect.Uint16:
		return spec.Int64Property()
	case reflect.Float32, reflect.Float64:
		return spec.Float64Property()
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && t.Name() == "" {
			return spec.StrFmtProperty("byte")
		}
	}
	if t == reflect.TypeFor[runtime.RawExtension]() || t.Name() == "RawMessage" || t.Name() == "FieldsV1" {
		return anything()
	}
	return nil
}

func anything() *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
}

// add makes the model of a struct, once, and returns its name.
func (m *models) add(t reflect.Type) string {
	name := nameOf(t)
	if m.schemas[name] != nil {
		return name
	}
	made := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{}}}
	m.schemas[name] = made
	about := map[string]string{}
	if e, is := reflect.TypeAssert[explained](reflect.New(t)); is {
		about = e.SwaggerDoc()
	}
	made.Description = about[""]
	m.fields(t, name, about, made)
	return name
}

// fields adds those of a struct, and of structs that it takes in.
func (m *models) fields(t reflect.Type, model string, about map[string]string, into *spec.Schema) {
	for field := range t.Fields() {
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if inside := field.Type; field.Anonymous && tag == "" && inside.Kind() == reflect.Struct {
			m.fields(inside, model, about, into)
			continue
		}
		if tag == "" || tag == "-" || !field.IsExported() {
			continue
		}
		made := m.of(field.Type)
		if made.Ref.String() != "" { // what stands beside a reference is not read
			made = &spec.Schema{SchemaProps: spec.SchemaProps{AllOf: []spec.Schema{*made}}}
		}
		made.Description = about[tag]
		m.merging(model, tag, &field, made)
		into.Properties[tag] = *made
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") && strings.Contains(field.Tag.Get("protobuf"), "bytes") && field.Type.Kind() == reflect.String {
			into.Required = append(into.Required, tag)
		}
	}
}

// merging says how a list or a struct of a kind of Kubernetes merges.
func (m *models) merging(model, tag string, field *reflect.StructField, into *spec.Schema) {
	if strategy := field.Tag.Get("patchStrategy"); strategy != "" {
		into.AddExtension("x-kubernetes-patch-strategy", strategy)
	}
	if key := field.Tag.Get("patchMergeKey"); key != "" {
		into.AddExtension("x-kubernetes-patch-merge-key", key)
	}
	def, found := m.merges.FindNamedType(model)
	if !found || def.Map == nil {
		return
	}
	of, found := def.FindField(tag)
	if !found {
		return
	}
	atom, found := m.merges.Resolve(of.Type)
	switch {
	case !found:
	case atom.List != nil && atom.List.ElementRelationship == smd.Atomic:
		into.AddExtension("x-kubernetes-list-type", "atomic")
	case atom.List != nil && len(atom.Keys) > 0:
		into.AddExtension("x-kubernetes-list-type", "map")
		into.AddExtension("x-kubernetes-list-map-keys", atom.Keys)
	case atom.List != nil:
		into.AddExtension("x-kubernetes-list-type", "set")
	case atom.Map != nil && atom.Map.ElementRelationship == smd.Atomic:
		into.AddExtension("x-kubernetes-map-type", "atomic")
	}
}
