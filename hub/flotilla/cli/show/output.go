package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"flotilla/configs/files"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
)

// Output is how a command prints objects: kubectl's -o and what belongs to it.
type Output struct {
	Format     string
	NoHeaders  bool
	ShowLabels bool
	// LabelColumns are label keys that have a column each.
	LabelColumns []string
	SortBy       string
	// AllNamespaces adds the namespace as the first column.
	AllNamespaces bool
}

var outputFormats = []string{
	"wide", "json", "yaml", "name", "jsonpath=", "jsonpath-file=", "go-template=", "custom-columns=", "custom-columns-file=",
}

// AddFlags adds -o and what belongs to it.
func (o *Output) AddFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.Format, "output", "o", "", "one of: wide, json, yaml, name, jsonpath=TEMPLATE, jsonpath-file=FILE, go-template=TEMPLATE, custom-columns=SPEC, custom-columns-file=FILE")
	flags.BoolVar(&o.NoHeaders, "no-headers", false, "leave out the head of the table")
	flags.BoolVar(&o.ShowLabels, "show-labels", false, "show labels as the last column")
	flags.StringSliceVarP(&o.LabelColumns, "label-columns", "L", nil, "label keys to show as columns, with commas between")
	flags.StringVar(&o.SortBy, "sort-by", "", "sort by a JSONPath, such as .metadata.creationTimestamp or {.status.counts.failed}")
}

// Table says that people read the output.
func (o *Output) Table() bool { return o.Format == "" || o.Format == "wide" }

// Printer returns kubectl's printer for the format, nil for tables. The forms with "=" take what
// follows it; custom columns are tables too but for any object.
func (o *Output) Printer() (printers.ResourcePrinter, error) {
	form, arg, _ := strings.Cut(o.Format, "=")
	switch form {
	case "", "wide":
		return nil, nil
	case "json":
		return &printers.JSONPrinter{}, nil
	case "yaml":
		return &printers.YAMLPrinter{}, nil
	case "name":
		return &printers.NamePrinter{}, nil
	}
	if arg == "" && slices.Contains(outputFormats, form+"=") {
		return nil, session.Usagef("-o %s needs a value: -o %s=…", form, form)
	}
	if base, found := strings.CutSuffix(form, "-file"); found {
		body, err := files.Read(arg, files.Small)
		if err != nil {
			return nil, session.Usagef("reading the template: %v", err)
		}
		form, arg = base, string(body)
	}
	switch form {
	case "jsonpath":
		return jsonPathPrinter(arg)
	case "go-template":
		p, err := printers.NewGoTemplatePrinter([]byte(arg))
		if err != nil {
			return nil, session.Usagef("template %q: %v", arg, err)
		}
		return p, nil
	case "custom-columns":
		return newCustomColumns(arg, o.NoHeaders)
	}
	return nil, session.Usagef("unknown output format %q, expected %s%s", o.Format, strings.Join(outputFormats, ", "), session.Meant(session.Nearest(form, outputFormats)))
}

func jsonPathPrinter(template string) (printers.ResourcePrinter, error) {
	p, err := printers.NewJSONPathPrinter(template)
	if err != nil {
		return nil, session.Usagef("jsonpath %q: %v", template, err)
	}
	p.AllowMissingKeys(true)
	return p, nil
}

// PrintObjects prints what a command read. A single object that was asked for by name is printed as
// itself, anything else as a List, the way kubectl does.
func (o *Output) PrintObjects(a *resource.Client, objects []*unstructured.Unstructured, single bool) error {
	if err := sortObjects(objects, o.SortBy); err != nil {
		return err
	}
	p, err := o.Printer()
	if err != nil {
		return err
	}
	if p == nil {
		return o.printTables(a, objects)
	}
	if _, names := p.(*printers.NamePrinter); names {
		for _, obj := range objects {
			if err := p.PrintObj(obj, a.Out); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
		}
		return nil
	}
	if single && len(objects) == 1 {
		return Print1(p, objects[0], a.Out)
	}
	return Print1(p, listOf(objects), a.Out)
}

// Print1 prints an object, and ends the line of a JSONPath.
func Print1(p printers.ResourcePrinter, obj runtime.Object, w io.Writer) error {
	if err := p.PrintObj(obj, w); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if _, ok := p.(*printers.JSONPathPrinter); ok {
		_, err := fmt.Fprintln(w)
		return err
	}
	return nil
}

func listOf(objects []*unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""},
	}}
	for _, obj := range objects {
		list.Items = append(list.Items, *obj)
	}
	return list
}
