package schema

import (
	"cmp"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// Field is one field of a kind, or the kind itself.
type Field struct {
	Name     string
	Type     string // "string", "[]Object", "map[string]string", as people read it
	Required bool
	Default  string // what is taken when it is absent, as docs/objects.md says it
	Text     string
	limit

	of       reflect.Type
	within   reflect.Type // that has the field
	kind     string       // of a root
	versions []string
}

// scalars are types whose JSON form does not follow from their Go kind.
var scalars = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():           "time",
	reflect.TypeFor[metav1.MicroTime]():      "time",
	reflect.TypeFor[metav1.Duration]():       "duration",
	reflect.TypeFor[intstr.IntOrString]():    "integer or string",
	reflect.TypeFor[resource.Quantity]():     "quantity",
	reflect.TypeFor[strict.Amount]():         "quantity",
	reflect.TypeFor[strict.CountOrPercent](): "integer or string",
	reflect.TypeFor[strict.Price]():          "number or string",
	reflect.TypeFor[strict.Decimal]():        "number or string",
	reflect.TypeFor[runtime.RawExtension]():  "any",
	reflect.TypeFor[metav1.FieldsV1]():       "any",
}

// Fields are the fields below f; none of a scalar.
func (f Field) Fields() []Field {
	t := element(f.of)
	if t.Kind() != reflect.Struct || scalars[t] != "" {
		return nil
	}
	return f.fieldsOf(t)
}

func (f Field) fieldsOf(t reflect.Type) (out []Field) {
	said := rows()[t]
	swagger := swaggerOf(t)
	for member := range t.Fields() {
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		switch {
		case name == "-" || !member.IsExported():
		case member.Type == reflect.TypeFor[metav1.TypeMeta]():
			out = append(out, f.typeMeta()...)
		case member.Type == reflect.TypeFor[metav1.ObjectMeta]() && f.kind != "":
			out = append(out, Field{Name: "metadata", Type: "Object", Required: true, Text: "Name, labels and annotations of the object.", of: reflect.TypeFor[meta]()})
		case member.Anonymous && name == "":
			out = append(out, f.embedded(member.Type, t)...)
		case name != "":
			optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
			r := said[name]
			field := Field{
				Name: name, Type: typeName(member.Type), Required: !optional && own(t) || r.fallback == "required",
				Default: r.fallback, Text: cmp.Or(r.text, swagger[name]), of: member.Type, within: t, limit: limits[t][name],
			}
			if field.Default == "required" || strings.HasSuffix(field.Default, "below") {
				field.Default = ""
			}
			if field = f.described(field); !f.unused(&field) {
				out = append(out, field)
			}
		}
	}
	return out
}

// embedded are the fields of a type inside another one, whose own sentences go before.
func (f Field) embedded(inner, outer reflect.Type) []Field {
	fields := f.fieldsOf(inner)
	for i := range fields {
		if r, said := rows()[outer][fields[i].Name]; said {
			fields[i].Text, fields[i].within = r.text, outer
		}
	}
	return fields
}

// unused leaves out what a profile does not take of what a run does, and the words of it.
func (f Field) unused(field *Field) bool {
	if f.within != reflect.TypeFor[api.AutoUpgradeProfileSpec]() || element(f.of) != reflect.TypeFor[api.NodeImageSelection]() {
		return false
	}
	if field.Name == "type" {
		field.limit = words(api.ImagesLatest, api.ImagesConsistent)
	}
	return field.Name == "customNodeImageVersions"
}

// described gives a field without a sentence of its own that of its type.
func (f Field) described(field Field) Field {
	field.Text = strings.TrimSpace(strings.TrimPrefix(field.Text, "below"))
	field.Text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(field.Text, "; "), " below"))
	switch {
	case field.Text != "":
	case f.kind != "" && field.Name == "spec":
		field.Text = cmp.Or(about(element(field.of)), "What is wanted.")
	case f.kind != "" && field.Name == "status":
		field.Text = "What the hub observed; ignored in what is applied."
	default:
		field.Text = about(element(field.of))
	}
	return field
}

func (f Field) typeMeta() []Field {
	return []Field{
		{Name: "apiVersion", Type: "string", Required: true, Text: "Group and version of the kind.", of: reflect.TypeFor[string](), limit: limit{Enum: f.versions}},
		{Name: "kind", Type: "string", Required: true, Text: "The kind.", of: reflect.TypeFor[string](), limit: limit{Enum: []string{f.kind}}},
	}
}

// own says that a type is one of Flotilla's, whose tags say what is required.
func own(t reflect.Type) bool {
	return strings.HasPrefix(t.PkgPath(), "flotilla/")
}

// element is what lists, maps and pointers are of.
func element(t reflect.Type) reflect.Type {
	for scalars[t] == "" && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	return t
}

// typeName is what people call a type.
func typeName(t reflect.Type) string {
	if name := scalars[t]; name != "" {
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "base64"
		}
		return "[]" + typeName(t.Elem())
	case reflect.Map:
		return "map[string]" + typeName(t.Elem())
	case reflect.Struct:
		return "Object"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float32, reflect.Float64:
		return "number"
	default:
		return "integer"
	}
}

// swaggerOf is what Kubernetes says of the fields of one of its types.
func swaggerOf(t reflect.Type) map[string]string {
	documented, ok := reflect.TypeAssert[interface{ SwaggerDoc() map[string]string }](reflect.New(t))
	if !ok || own(t) {
		return nil
	}
	return documented.SwaggerDoc()
}

// Find follows names downwards, "spec.policy" as two of them; the unknown one is returned where there is one.
// Brackets of items may be written: "stages[]", "stages[0]".
func (f Field) Find(path []string) (found Field, unknown string) {
	for _, name := range path {
		name, _, _ = strings.Cut(name, "[")
		fields := f.Fields()
		i := 0
		for i < len(fields) && fields[i].Name != name {
			i++
		}
		if i == len(fields) {
			return f, name
		}
		f = fields[i]
	}
	return f, ""
}
