package show

import (
	"bytes"
	"io"
	"strings"

	"flotilla/hub/flotilla/cli/session"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
)

// customColumns prints NAME:.path columns, each path through kubectl's JSONPath printer.
type customColumns struct {
	heads     []string
	columns   []*printers.JSONPathPrinter
	noHeaders bool
}

// newCustomColumns reads "NAME:.metadata.name,MEMBERS:.status.counts.picked", or the same as a file:
// a line of heads and a line of paths.
func newCustomColumns(spec string, noHeaders bool) (*customColumns, error) {
	c := &customColumns{noHeaders: noHeaders}
	lines := strings.Split(strings.TrimSpace(spec), "\n")
	if len(lines) == 2 {
		heads, paths := strings.Fields(lines[0]), strings.Fields(lines[1])
		if len(heads) != len(paths) {
			return nil, session.Usagef("custom columns: %d heads and %d paths", len(heads), len(paths))
		}
		for i := range heads {
			if err := c.add(heads[i], paths[i]); err != nil {
				return nil, err
			}
		}
		return c, nil
	}
	for part := range strings.SplitSeq(spec, ",") {
		head, path, found := strings.Cut(part, ":")
		if !found || head == "" || path == "" {
			return nil, session.Usagef("custom columns: found %q, expected NAME:.json.path", part)
		}
		if err := c.add(head, path); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *customColumns) add(head, path string) error {
	p, err := printers.NewJSONPathPrinter(RelaxedPath(path))
	if err != nil {
		return session.Usagef("custom columns: %s: %v", path, err)
	}
	p.AllowMissingKeys(true)
	c.heads = append(c.heads, head)
	c.columns = append(c.columns, p)
	return nil
}

// PrintObj prints one object, or each of a list.
func (c *customColumns) PrintObj(obj runtime.Object, out io.Writer) error {
	w := printers.GetNewTabWriter(out)
	if !c.noHeaders {
		session.Say(w, "%s\n", strings.Join(c.heads, "\t"))
	}
	items := []unstructured.Unstructured{}
	switch o := obj.(type) {
	case *unstructured.UnstructuredList:
		items = o.Items
	case *unstructured.Unstructured:
		items = append(items, *o)
	}
	for i := range items {
		cells := make([]string, len(c.columns))
		for j, p := range c.columns {
			var cell bytes.Buffer
			if err := p.PrintObj(&items[i], &cell); err != nil {
				return err
			}
			cells[j] = session.Breaks.Replace(cell.String())
			if cells[j] == "" {
				cells[j] = "<none>"
			}
		}
		session.Say(w, "%s\n", strings.Join(cells, "\t"))
	}
	return w.Flush()
}
