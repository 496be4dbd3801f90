package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
)

// output is how a command prints objects: kubectl's -o and what belongs to it.
type output struct {
	format     string
	noHeaders  bool
	showLabels bool
	// labelColumns are label keys that have a column each.
	labelColumns []string
	sortBy       string
	// allNamespaces adds the namespace as the first column.
	allNamespaces bool
}

var outputFormats = []string{
	"wide", "json", "yaml", "name", "jsonpath=", "jsonpath-file=", "go-template=", "custom-columns=", "custom-columns-file=",
}

func (o *output) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.format, "output", "o", "", "one of: wide, json, yaml, name, jsonpath=TEMPLATE, jsonpath-file=FILE, go-template=TEMPLATE, custom-columns=SPEC, custom-columns-file=FILE")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "leave out the head of the table")
	flags.BoolVar(&o.showLabels, "show-labels", false, "show labels as the last column")
	flags.StringSliceVarP(&o.labelColumns, "label-columns", "L", nil, "label keys to show as columns, with commas between")
	flags.StringVar(&o.sortBy, "sort-by", "", "sort by a JSONPath, such as .metadata.creationTimestamp or {.status.counts.failed}")
}

// table says that people read the output.
func (o *output) table() bool { return o.format == "" || o.format == "wide" }

// printer returns kubectl's printer for the format, nil for tables. The forms with "=" take what
// follows it; custom columns are tables too but for any object.
func (o *output) printer() (printers.ResourcePrinter, error) {
	form, arg, _ := strings.Cut(o.format, "=")
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
		return nil, usagef("-o %s needs a value: -o %s=…", form, form)
	}
	if base, found := strings.CutSuffix(form, "-file"); found {
		body, err := os.ReadFile(arg)
		if err != nil {
			return nil, usagef("reading the template: %v", err)
		}
		form, arg = base, string(body)
	}
	switch form {
	case "jsonpath":
		return jsonPathPrinter(arg)
	case "go-template":
		p, err := printers.NewGoTemplatePrinter([]byte(arg))
		if err != nil {
			return nil, usagef("template %q: %v", arg, err)
		}
		return p, nil
	case "custom-columns":
		return newCustomColumns(arg, o.noHeaders)
	}
	return nil, usagef("unknown output format %q, expected %s%s", o.format, strings.Join(outputFormats, ", "), meant(nearest(form, outputFormats)))
}

func jsonPathPrinter(template string) (printers.ResourcePrinter, error) {
	p, err := printers.NewJSONPathPrinter(template)
	if err != nil {
		return nil, usagef("jsonpath %q: %v", template, err)
	}
	p.AllowMissingKeys(true)
	return p, nil
}

// printObjects prints what a command read. A single object that was asked for by name is printed as
// itself, anything else as a List, the way kubectl does.
func (o *output) printObjects(a *Client, objects []*unstructured.Unstructured, single bool) error {
	if err := sortObjects(objects, o.sortBy); err != nil {
		return err
	}
	p, err := o.printer()
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
		return print1(p, objects[0], a.Out)
	}
	return print1(p, listOf(objects), a.Out)
}

func print1(p printers.ResourcePrinter, obj runtime.Object, w io.Writer) error {
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
