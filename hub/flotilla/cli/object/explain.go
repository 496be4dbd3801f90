package object

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/schema"
)

func (a Commands) explainCommand() *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use:   "explain TYPE[.FIELD…]",
		Short: "Say what a kind, or a field of it, is: type, default, what it may be, and what it means",
		Long: `Say what a kind, or a field of it, is. Fields are named by their path: placement.spec.policy. Asks no hub. The sentences are those
of docs/objects.md, of Kubernetes' own kinds those of Kubernetes.`,
		Example: `  flotilla explain placement.spec.policy
  flotilla explain nodepool.spec.disruption.budgets
  flotilla explain run --recursive`,
		Args: session.OneWord("the kind to explain, like placement or placement.spec.policy"),
		RunE: a.Do(func(_ context.Context, args []string) error { return a.explain(args[0], recursive) }),
	}
	cmd.Flags().BoolVar(&recursive, "recursive", false, "only the names and types of all fields, as a tree")
	return cmd
}

func (a Commands) explain(word string, recursive bool) error {
	base, rest, _ := strings.Cut(word, ".")
	root, k, err := described(base)
	if err != nil {
		return err
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, resource.GroupOf(k.APIVersion)), ".")
	var path []string
	if rest != "" {
		path = strings.Split(rest, ".")
	}
	field, unknown := root.Find(path)
	if unknown != "" {
		return unknownField(field, base, path, unknown)
	}
	a.Printf("KIND:     %s\nVERSION:  %s\n", root.Name, strings.Join(root.Versions(), ", "))
	if len(path) > 0 {
		a.Printf("FIELD:    %s <%s>\n", strings.Join(path, "."), field.Type)
	}
	a.Printf("\nDESCRIPTION:\n%s", wrapped(field.Text, "    "))
	for _, line := range traits(field) {
		a.Printf("    %s\n", line)
	}
	fields := field.Fields()
	if len(fields) > 0 {
		a.Printf("\nFIELDS:\n")
	}
	if recursive {
		a.explainTree(fields, "  ", nil)
		return nil
	}
	for _, f := range fields {
		a.Printf("  %s <%s>\n", f.Name, f.Type)
		for _, line := range traits(f) {
			a.Printf("      %s\n", line)
		}
		a.Printf("%s", wrapped(f.Text, "      "))
	}
	return nil
}

// described finds the description of a kind by its word.
func described(word string) (schema.Field, resource.Type, error) {
	k, err := resource.KindByWord(word)
	if err != nil {
		return schema.Field{}, k, err
	}
	if !schema.Known(k.Kind) {
		f := session.Refusedf("the fields of %s are not known here", k.Kind)
		f.Next = "kubectl explain " + strings.ToLower(k.Kind)
		return schema.Field{}, k, f
	}
	return schema.Root(k.Kind), k, nil
}

func unknownField(in schema.Field, base string, path []string, unknown string) error {
	var names []string
	for _, f := range in.Fields() {
		names = append(names, f.Name)
	}
	at := strings.Join(append([]string{base}, path[:slices.Index(path, unknown)]...), ".")
	if len(names) == 0 {
		return session.Refusedf("%s is a %s: it has no field %q", at, in.Type, unknown)
	}
	f := session.Refusedf("%s has no field %q%s", at, unknown, session.Meant(session.Nearest(unknown, names)))
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
func (a Commands) explainTree(fields []schema.Field, indent string, around []string) {
	for _, f := range fields {
		a.Printf("%s%s <%s>\n", indent, f.Name, f.Type)
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
