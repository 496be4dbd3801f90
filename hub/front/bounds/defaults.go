package bounds

import (
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
)

const (
	// mostFilled is how many values a definition fills into an object at most; so many bytes of a text are one more, and so many fields that
	// are looked at.
	mostFilled, bytesFilled, fieldsFilled = 100_000, 32, 100
)

// Fill fills in what a definition says, unless that is too much: what it says of each item of a list it says as often as there are items.
func Fill(object map[string]any, of *structuralschema.Structural) error {
	d := defaults{left: mostFilled}
	if d.into(object, of); d.left < 0 {
		return fmt.Errorf("found defaults of more than %d values for this object, expected at most so many: give them in it, or take them out of the definition", mostFilled)
	}
	defaulting.Default(object, of)
	return nil
}

// defaults counts what is filled into a value, down to 0.
type defaults struct{ left int }

// into counts what is filled into a value, where the library fills it in.
func (d *defaults) into(value any, of *structuralschema.Structural) {
	if of == nil || d.left < 0 {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		d.left -= len(of.Properties) / fieldsFilled
		for key, property := range of.Properties {
			inner, found := v[key]
			switch {
			case found:
				d.value(inner, &property)
			case property.Default.Object != nil: // also where null may stand there
				d.filled(&property)
			}
		}
		if of.AdditionalProperties == nil {
			return
		}
		for key, inner := range v {
			if _, named := of.Properties[key]; !named {
				d.value(inner, of.AdditionalProperties.Structural)
			}
		}
	case []any:
		for _, inner := range v {
			d.value(inner, of.Items)
		}
	}
}

// value counts what is filled into a value, or in its place where it is none.
func (d *defaults) value(value any, of *structuralschema.Structural) {
	if value == nil && of != nil && !of.Nullable {
		d.filled(of)
		return
	}
	d.into(value, of)
}

// filled counts what is filled in where there is nothing, and into that.
func (d *defaults) filled(of *structuralschema.Structural) {
	d.count(of.Default.Object)
	d.into(of.Default.Object, of)
}

// count counts a value that is filled in.
func (d *defaults) count(value any) {
	if d.left--; d.left < 0 {
		return
	}
	switch v := value.(type) {
	case string:
		d.left -= len(v) / bytesFilled
	case map[string]any:
		for key, inner := range v {
			d.left -= len(key) / bytesFilled
			d.count(inner)
		}
	case []any:
		for _, inner := range v {
			d.count(inner)
		}
	}
}
