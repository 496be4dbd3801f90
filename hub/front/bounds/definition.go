package bounds

import (
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// partsOfKind is how many parts a definition has beside those that it spells out: its kind is listed and served.
	partsOfKind = 100
	// What so many values and bytes take is about as much as one field of a schema.
	valuesOfPart, bytesOfPart = 8, 512
)

// Parts is about how many fields the schemas of a definition have, each of which takes about a kilobyte once it is served.
func Parts(definition map[string]any) int {
	var c parts
	c.add(definition)
	return partsOfKind + c.fields + c.values/valuesOfPart + c.bytes/bytesOfPart
}

// parts are what counts in a definition.
type parts struct{ fields, values, bytes int }

func (c *parts) add(value any) {
	switch v := value.(type) {
	case map[string]any:
		c.fields++
		for key, inner := range v {
			c.bytes += len(key)
			c.add(inner)
		}
	case []any:
		c.values++
		for _, inner := range v {
			c.add(inner)
		}
	case string:
		c.values++
		c.bytes += len(v)
	default:
		c.values++
	}
}

// Definitions is how many parts definitions may have, one and all together.
type Definitions struct{ One, All int }

// Take takes the parts of a definition from what is left, unless there are too many.
func (d *Definitions) Take(parts int) error {
	switch {
	case parts > d.One:
		return fmt.Errorf("found a definition of %d parts, expected at most %d: leave descriptions, versions or fields out", parts, d.One)
	case parts > d.All:
		return fmt.Errorf("found a definition of %d parts, and older ones leave room for %d: delete some", parts, d.All)
	}
	d.All -= parts
	return nil
}

// Nameless finds names that are none, by the rules of Kubernetes: they become paths.
func Nameless(crd *apiextensionsv1.CustomResourceDefinitionSpec) error {
	faults := validation.IsDNS1123Subdomain(crd.Group)
	check := func(field, name string) {
		for _, fault := range validation.IsDNS1035Label(name) {
			faults = append(faults, fmt.Sprintf("spec.%s: found %.100q: %s", field, name, fault))
		}
	}
	check("names.plural", crd.Names.Plural)
	check("names.kind", strings.ToLower(crd.Names.Kind))
	for i, v := range crd.Versions {
		check(fmt.Sprintf("versions[%d].name", i), v.Name)
	}
	for i, name := range crd.Names.ShortNames {
		check(fmt.Sprintf("names.shortNames[%d]", i), name)
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}
