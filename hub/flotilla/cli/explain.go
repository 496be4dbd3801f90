package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/hub/flotilla/schema"
)

func (a objectCommands) explainCommand() *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use:   "explain TYPE[.FIELD…]",
		Short: "Say what a kind, or a field of it, is: type, default, what it may be, and what it means",
		Long: `Say what a kind, or a field of it, is. Fields are named by their path: placement.spec.policy. Asks no hub. The sentences are those
of docs/objects.md, of Kubernetes' own kinds those of Kubernetes.`,
		Example: `  flotilla explain placement.spec.policy
  flotilla explain nodepool.spec.disruption.budgets
  flotilla explain run --recursive`,
		Args: oneWord("the kind to explain, like placement or placement.spec.policy"),
		RunE: a.do(func(_ context.Context, args []string) error { return a.explain(args[0], recursive) }),
	}
	cmd.Flags().BoolVar(&recursive, "recursive", false, "only the names and types of all fields, as a tree")
	return cmd
}

func (a objectCommands) explain(word string, recursive bool) error {
	base, rest, _ := strings.Cut(word, ".")
	root, k, err := described(base)
	if err != nil {
		return err
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, groupOf(k.apiVersion)), ".")
	var path []string
	if rest != "" {
		path = strings.Split(rest, ".")
	}
	field, unknown := root.Find(path)
	if unknown != "" {
		return unknownField(field, base, path, unknown)
	}
	a.printf("KIND:     %s\nVERSION:  %s\n", root.Name, strings.Join(root.Versions(), ", "))
	if len(path) > 0 {
		a.printf("FIELD:    %s <%s>\n", strings.Join(path, "."), field.Type)
	}
	a.printf("\nDESCRIPTION:\n%s", wrapped(field.Text, "    "))
	for _, line := range traits(field) {
		a.printf("    %s\n", line)
	}
	fields := field.Fields()
	if len(fields) > 0 {
		a.printf("\nFIELDS:\n")
	}
	if recursive {
		a.explainTree(fields, "  ", nil)
		return nil
	}
	for _, f := range fields {
		a.printf("  %s <%s>\n", f.Name, f.Type)
		for _, line := range traits(f) {
			a.printf("      %s\n", line)
		}
		a.printf("%s", wrapped(f.Text, "      "))
	}
	return nil
}

// described finds the description of a kind by its word.
func described(word string) (schema.Field, resourceKind, error) {
	k, err := kindByWord(word)
	if err != nil {
		return schema.Field{}, k, err
	}
	if !schema.Known(k.kind) {
		f := refusedf("the fields of %s are not known here", k.kind)
		f.Next = "kubectl explain " + strings.ToLower(k.kind)
		return schema.Field{}, k, f
	}
	return schema.Root(k.kind), k, nil
}

func unknownField(in schema.Field, base string, path []string, unknown string) error {
	var names []string
	for _, f := range in.Fields() {
		names = append(names, f.Name)
	}
	at := strings.Join(append([]string{base}, path[:slices.Index(path, unknown)]...), ".")
	if len(names) == 0 {
		return refusedf("%s is a %s: it has no field %q", at, in.Type, unknown)
	}
	f := refusedf("%s has no field %q%s", at, unknown, meant(nearest(unknown, names)))
	f.Next = "flotilla explain " + at
	return f
}

// traits are what a field must be beside its type, one a line.
func traits(f schema.Field) []string {
	var lines []string
	if f.Required {
		lines = append(lines, "required")
	}
	if f.Default != "" && f.Default != "–" {
		lines = append(lines, "default: "+strings.Trim(f.Default, "`"))
	}
	if len(f.Enum) > 0 {
		lines = append(lines, "one of: "+strings.Join(f.Enum, ", "))
	}
	switch {
	case f.Min != nil && f.Max != nil:
		lines = append(lines, fmt.Sprintf("from %d to %d", *f.Min, *f.Max))
	case f.Min != nil:
		lines = append(lines, fmt.Sprintf("%d or more", *f.Min))
	case f.Max != nil:
		lines = append(lines, fmt.Sprintf("at most %d", *f.Max))
	}
	if f.Pattern != "" {
		lines = append(lines, "pattern: "+f.Pattern)
	}
	return lines
}

// explainTree prints the fields below each other; a type inside itself is not followed.
func (a objectCommands) explainTree(fields []schema.Field, indent string, around []string) {
	for _, f := range fields {
		a.printf("%s%s <%s>\n", indent, f.Name, f.Type)
		if name := f.TypeID(); !slices.Contains(around, name) {
			a.explainTree(f.Fields(), indent+"  ", append(slices.Clip(around), name))
		}
	}
}

// wrapped breaks a text into lines of at most 100 letters behind an indent; nothing for no text.
func wrapped(text, indent string) string {
	const width = 100
	var b strings.Builder
	line := ""
	flush := func() {
		if line != "" {
			b.WriteString(indent + line + "\n")
		}
		line = ""
	}
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			flush()
		}
		line = strings.TrimSpace(line + " " + word)
	}
	flush()
	return b.String()
}
