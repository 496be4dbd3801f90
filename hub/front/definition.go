package front

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"flotilla/hub/front/bounds"
	"flotilla/hub/front/shelf"
)

// definitionKind is the kind whose objects define further kinds.
var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// mostParts is how many parts the definitions of served kinds have at most: the largest that are known have some 20,000 fields, and 250,000 parts take
// about 400 MB.
var mostParts = bounds.Definitions{One: 50_000, All: 250_000}

// definition is what a CustomResourceDefinition says of a kind in one version.
type definition struct {
	structural *structuralschema.Structural
	model      *spec.Schema
	types      managedfields.TypeConverter
	columns    []column
	categories []string
}

// defined are the kinds that a definition brings: its newest version that is served, as objects lie in the hub in one.
func defined(u *unstructured.Unstructured) (*kind, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	text, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(text, &crd)
	}
	if err != nil {
		return nil, err
	}
	if group := crd.Spec.Group; !strings.Contains(group, ".") || u.GetName() != crd.Spec.Names.Plural+"."+group {
		return nil, fmt.Errorf("found the group %q and the name %s, expected a group with a dot, and the name PLURAL.GROUP", group, u.GetName())
	}
	if err := bounds.Nameless(&crd.Spec); err != nil {
		return nil, err
	}
	served := slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Served })
	if len(served) == 0 {
		return nil, fmt.Errorf("no version of it is served")
	}
	newest := slices.MaxFunc(served, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
		return version.CompareKubeAwareVersionStrings(a.Name, b.Name)
	})
	k := &kind{
		GroupVersionKind: schema.GroupVersionKind{Group: crd.Spec.Group, Version: newest.Name, Kind: crd.Spec.Names.Kind},
		resource:         crd.Spec.Names.Plural, namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, short: crd.Spec.Names.ShortNames,
		definition: &definition{types: managedfields.NewDeducedTypeConverter(), categories: crd.Spec.Names.Categories},
	}
	for i := range min(len(newest.AdditionalPrinterColumns), mostColumns) {
		if made, ok := printedColumn(&newest.AdditionalPrinterColumns[i]); ok {
			k.definition.columns = append(k.definition.columns, made)
		}
	}
	if newest.Schema == nil || newest.Schema.OpenAPIV3Schema == nil {
		return k, nil
	}
	return k, k.shaped(newest.Schema.OpenAPIV3Schema)
}

// definitionOf tells a definition from what it was before, and from another of its name.
func definitionOf(one *shelf.Item) string { return fmt.Sprintf("%s/%d", one.UID, one.Generation) }

// shaped takes in the schema of a kind.
func (k *kind) shaped(props *apiextensionsv1.JSONSchemaProps) error {
	internal := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil)
	if err != nil {
		return err
	}
	if k.definition.structural, err = structuralschema.NewStructural(internal); err != nil {
		return err
	}
	text, err := json.Marshal(props)
	if err != nil {
		return err
	}
	model := &spec.Schema{}
	if err := json.Unmarshal(text, model); err != nil {
		return err
	}
	delete(model.Properties, "metadata") // which is that of every object
	model.AddExtension(gvkExtension, []any{k.named()})
	k.definition.model = model
	k.definition.types, err = managedfields.NewTypeConverter(map[string]*spec.Schema{k.Kind: withHeading(model)}, false)
	return err
}

// withHeading is a model for server-side apply, where what is no field of the model would be refused.
func withHeading(model *spec.Schema) *spec.Schema {
	whole := *model
	whole.Properties = map[string]spec.Schema{}
	maps.Copy(whole.Properties, model.Properties)
	for _, name := range []string{"metadata", "status"} { // which the hub tells of every kind
		told := anything()
		told.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		whole.Properties[name] = *told
	}
	for _, name := range []string{"apiVersion", "kind"} {
		whole.Properties[name] = *spec.StringProperty()
	}
	return &whole
}

// tidy drops from an object what its kind has not, says what that was, and fills in what the definition does.
func (d *definition) tidy(u *unstructured.Unstructured) error {
	if d.structural == nil {
		return nil
	}
	status, told := u.Object["status"] // which the hub tells of every kind
	delete(u.Object, "status")
	unknown := pruning.PruneWithOptions(u.Object, d.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	err := bounds.Fill(u.Object, d.structural)
	if told {
		u.Object["status"] = status
	}
	if err != nil || len(unknown) == 0 {
		return err
	}
	faults := make([]error, len(unknown))
	for i, path := range unknown {
		faults[i] = fmt.Errorf("unknown field %q", path)
	}
	return runtime.NewStrictDecodingError(faults)
}

// mostColumns is how many columns of a definition are shown at most: the widest that are known have some twenty.
const mostColumns = 64

// mostCell is what a cell of a column shows at most, in bytes.
const mostCell = 1 << 10

// printedColumn is a column of a table as a definition says it.
func printedColumn(c *apiextensionsv1.CustomResourceColumnDefinition) (column, bool) {
	parsed := func() (*jsonpath.JSONPath, error) { // for each use: using one changes it
		path := jsonpath.New(c.Name).AllowMissingKeys(true)
		return path, path.Parse("{" + c.JSONPath + "}")
	}
	if strings.EqualFold(c.Name, "age") || !bounds.Simple(c.JSONPath) {
		return column{}, false
	}
	return column{c.Name, c.Priority > 0, func(o map[string]any) any {
		path, err := parsed()
		if err != nil {
			return nil
		}
		found, err := path.FindResults(o)
		if err != nil || len(found) == 0 || len(found[0]) == 0 {
			return nil
		}
		return shortened(fmt.Sprint(found[0][0].Interface()), mostCell)
	}}, true
}

// shortened is the beginning of a text that is longer than most bytes.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// read is the kind of a definition.
func (f *Front) read(u *unstructured.Unstructured) (k *kind, err error) {
	defer recovered(&err)
	k, err = defined(u)
	if err == nil && slices.ContainsFunc(f.builtIn, func(b *kind) bool { return b.Group == k.Group }) {
		return nil, fmt.Errorf("found the group %s, which is built in, expected another", k.Group)
	}
	return k, err
}
