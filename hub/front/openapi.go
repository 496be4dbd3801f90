package front

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"flotilla/hub/front/shapes"
)

const gvkExtension = "x-kubernetes-group-version-kind"

// openapi serves the shapes of what is served, in OpenAPI 3. Those of versions whose kinds are as they were go on as they were.
func (f *Front) openapi(now, before *served) http.Handler {
	now.shapes = shapes.All{}
	for _, g := range now.groups() {
		for _, version := range g.versions {
			gv := schema.GroupVersion{Group: g.name, Version: version}
			path, listed := strings.TrimPrefix(root(gv), "/"), now.in(gv)
			of := func() *spec3.OpenAPI { return document(listed) }
			if now.shapes[path] = before.shapes[path]; now.shapes[path] == nil {
				now.shapes[path] = f.shapes.New(path, release, of)
			} else if !slices.Equal(listed, before.in(gv)) {
				now.shapes[path] = now.shapes[path].Changed(release, of)
			}
		}
	}
	mux := http.NewServeMux()
	handler.NewOpenAPIService(inTwo()).RegisterOpenAPIVersionedService("/openapi/v2", mux)
	mux.Handle(shapes.Root, now.shapes)
	mux.Handle(shapes.Root+"/", now.shapes)
	return mux
}

// inTwo says in OpenAPI 2 that nothing is said there: who finds no shape of a kind asks for it, or has it judged by the hub.
func inTwo() *spec.Swagger {
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Info: &spec.Info{InfoProps: spec.InfoProps{Title: "Flotilla", Version: "v" + release + ".0"}}, Paths: &spec.Paths{},
	}}
}

// root is where the resources of a version are.
func root(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

// document has the paths and models of the kinds of a version.
func document(listed []*kind) *spec3.OpenAPI {
	all := newModels()
	out := &spec3.OpenAPI{
		Version: "3.0.0", Info: &spec.Info{InfoProps: spec.InfoProps{Title: "Flotilla", Version: "v" + release + ".0"}},
		Paths: &spec3.Paths{Paths: map[string]*spec3.Path{}}, Components: &spec3.Components{},
	}
	for _, k := range listed {
		name := all.addKind(k)
		many, one := k.path(), k.path()+"/{name}"
		of := spec.RefSchema("#/components/schemas/" + name)
		out.Paths.Paths[many] = &spec3.Path{PathProps: spec3.PathProps{
			Get: k.operation("list", of), Post: k.operation("post", of), Delete: k.operation("deletecollection", of), Parameters: k.inPath(false),
		}}
		out.Paths.Paths[one] = &spec3.Path{PathProps: spec3.PathProps{
			Get: k.operation("get", of), Put: k.operation("put", of), Patch: k.operation("patch", of), Delete: k.operation("delete", of), Parameters: k.inPath(true),
		}}
	}
	out.Components.Schemas = all.schemas
	return out
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panicked: %v", p)
	}
}

// addKind makes the model of a kind, whose name no other kind has; that of one without a type says nothing of its fields.
func (m *models) addKind(k *kind) string {
	if made := typed(k.GroupVersionKind); made != nil {
		name := m.add(reflect.TypeOf(made).Elem())
		m.schemas[name].AddExtension(gvkExtension, []any{k.named()})
		return name
	}
	name, made := k.Group+"."+k.Version+"."+k.Kind, anything()
	if k.definition != nil && k.definition.model != nil {
		whole := *k.definition.model
		if whole.Properties = maps.Clone(whole.Properties); whole.Properties == nil {
			whole.Properties = map[string]spec.Schema{} // what it holds may be anything
		}
		m.fields(reflect.TypeFor[heading](), name, map[string]string{}, &whole)
		m.schemas[name] = &whole
		return name
	}
	made.AddExtension(gvkExtension, []any{k.named()})
	m.schemas[name] = made
	if k.structure == nil {
		made.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		return name
	}
	made.Properties = map[string]spec.Schema{}
	m.fields(k.structure, name, map[string]string{}, made)
	return name
}

// heading is what every object has.
type heading struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (k *kind) named() map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
}

func (k *kind) path() string {
	if k.namespaced {
		return root(k.GroupVersion()) + "/namespaces/{namespace}/" + k.resource
	}
	return root(k.GroupVersion()) + "/" + k.resource
}

func (k *kind) inPath(name bool) []*spec3.Parameter {
	var all []*spec3.Parameter
	if k.namespaced {
		all = append(all, parameter("namespace", "path", spec.StringProperty()))
	}
	if name {
		all = append(all, parameter("name", "path", spec.StringProperty()))
	}
	return all
}

func parameter(name, in string, of *spec.Schema) *spec3.Parameter {
	return &spec3.Parameter{ParameterProps: spec3.ParameterProps{Name: name, In: in, Required: in == "path", Schema: of}}
}

// operation is what a verb does with objects of a kind.
func (k *kind) operation(action string, of *spec.Schema) *spec3.Operation {
	out := &spec3.Operation{OperationProps: spec3.OperationProps{
		OperationId: action + strings.ToUpper(k.Version[:1]) + k.Version[1:] + k.Kind,
		Responses: &spec3.Responses{ResponsesProps: spec3.ResponsesProps{StatusCodeResponses: map[int]*spec3.Response{
			http.StatusOK: {ResponseProps: spec3.ResponseProps{Description: "OK", Content: inJSON(of)}},
		}}},
	}}
	out.AddExtension("x-kubernetes-action", action)
	out.AddExtension(gvkExtension, k.named())
	switch action {
	case "post", "put", "patch":
		out.Parameters = append(out.Parameters,
			parameter("dryRun", "query", spec.StringProperty()), parameter("fieldManager", "query", spec.StringProperty()),
			parameter("fieldValidation", "query", spec.StringProperty()))
		out.RequestBody = &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{Required: true, Content: inJSON(of)}}
		if action == "patch" {
			out.Parameters = append(out.Parameters, parameter("force", "query", spec.BoolProperty()))
			out.RequestBody.Content = map[string]*spec3.MediaType{}
			for _, media := range k.patches() {
				out.RequestBody.Content[media] = &spec3.MediaType{MediaTypeProps: spec3.MediaTypeProps{Schema: anything()}}
			}
		}
	case "delete", "deletecollection":
		out.Parameters = append(out.Parameters, parameter("dryRun", "query", spec.StringProperty()))
	}
	return out
}

func inJSON(of *spec.Schema) map[string]*spec3.MediaType {
	return map[string]*spec3.MediaType{"application/json": {MediaTypeProps: spec3.MediaTypeProps{Schema: of}}}
}
