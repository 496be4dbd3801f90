package plan

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/plan"
	"flotilla/core/preview"
	"flotilla/core/schedule"
	"flotilla/core/seal"
	"flotilla/core/strict"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// renderOptions ask for what a member is given.
type renderOptions struct {
	render bool
	diff   bool
	member string
}

// AddFlags adds --render, --diff and --member.
func (o *renderOptions) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.render, "render", false, "print what --member is given, or would be: objects as overrides leave them there, and how they differ from what was selected")
	flags.BoolVar(&o.diff, "diff", false, "with --render, the differences alone")
	flags.StringVarP(&o.member, "member", "m", "", "with --render, the member")
}

// renderPlan shows what a member is given.
func (a commands) renderPlan(ctx context.Context, o *planOptions, args []string) error {
	if err := o.usable(a, args); err != nil {
		return err
	}
	var named *resource.Ref
	if len(args) > 0 {
		r, err := resource.PlacementRef(args, a.Namespace)
		if err != nil {
			return err
		}
		named = &r
	}
	var documents []offline.Document
	if !o.Empty() {
		var err error
		if documents, err = o.Read(a.Client); err != nil {
			return err
		}
	}
	var report *preview.Report
	var err error
	if o.Offline || !a.Connection.Configured(a.Getenv) {
		report, err = a.renderOffline(o, named, documents)
	} else {
		report, err = a.renderLive(ctx, o, named, documents)
	}
	if err != nil {
		return offline.DescribeFaults(err, documents, &o.Source, false)
	}
	return a.printRendered(o, report)
}

// usable refuses flags that mean nothing together.
func (o *planOptions) usable(a commands, args []string) error {
	if err := a.Format(o.format, "json", "yaml"); err != nil {
		return err
	}
	switch {
	case o.member == "":
		return session.Usagef("--render: name the member with --member")
	case o.diff && o.format != "":
		return session.Usagef("--diff is a text: leave out -o")
	case o.asked():
		return session.Usagef("--render shows what a member is given: leave out --without, --without-label and --add")
	case len(args) == 0 && o.Empty():
		return session.Usagef("--render: name placement/NAME, or files with -f")
	}
	o.member = strings.TrimPrefix(o.member, "member/")
	return o.Unused()
}

func (a commands) renderLive(ctx context.Context, o *planOptions, named *resource.Ref, documents []offline.Document) (*preview.Report, error) {
	request := api.PreviewRequest{Member: o.member, Documents: bodies(documents)}
	if named != nil {
		object := named.Object()
		request.Placement = &object
	}
	report := &preview.Report{}
	return report, a.Call(ctx, api.VerbPreview, request, report)
}

// renderOffline shows it from files.
func (a commands) renderOffline(o *planOptions, named *resource.Ref, documents []offline.Document) (*preview.Report, error) {
	at, err := o.Time()
	if err != nil {
		return nil, err
	}
	in, _, err := o.Collect(a.Client, documents, at)
	if err != nil {
		return nil, err
	}
	files, faults := preview.ReadFiles(bodies(documents), onceOnly())
	if len(faults) > 0 {
		return nil, faults
	}
	member := slices.IndexFunc(in.Members, func(m api.Member) bool { return m.Name == o.member })
	if member < 0 {
		return nil, unknownMember(o.member, in.Members)
	}
	report := &preview.Report{Member: o.member, Notes: in.Notes}
	fleet := schedule.NewFleet(in.Members...)
	for i := range in.Subjects {
		s := &in.Subjects[i]
		if named != nil && s.Placement.Key() != strings.TrimPrefix(named.Namespace+"/"+named.Name, "/") {
			continue
		}
		one, err := files.Show(&s.Placement, &in.Members[member])
		if err != nil {
			return nil, session.Refusedf("%v", err)
		}
		one.NotPicked = preview.NotPicked(s.Input(fleet, in.Now, in.Thresholds), o.member)
		report.Placements = append(report.Placements, one)
	}
	if named != nil && len(report.Placements) == 0 {
		return nil, notAmong(named, in.Subjects)
	}
	return report, nil
}

// onceOnly are keys that nobody has after this command: digests of values of Secrets tell equal ones apart, and nothing else.
func onceOnly() *seal.Keyring {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return &seal.Keyring{Digests: key}
}

func unknownMember(name string, members []api.Member) error {
	names := make([]string, len(members))
	for i := range members {
		names[i] = members[i].Name
	}
	text := fmt.Sprintf("the files hold no member %s", strict.Quote(name))
	if near := strict.Nearest(name, names); near != "" {
		text += ", did you mean " + near + "?"
	}
	return session.Refusedf("%s", text)
}

func notAmong(r *resource.Ref, subjects []plan.Subject) error {
	names := make([]string, len(subjects))
	for i := range subjects {
		names[i] = subjects[i].Placement.Key()
	}
	return session.Refusedf("the files do not hold %s: found %s", r, phrase.Enumerate(append(names, "no other")))
}

// printRendered prints a report, and ends with the failures in it.
func (a commands) printRendered(o *planOptions, report *preview.Report) error {
	a.Notes(report.Notes)
	objects := given(report)
	switch o.format {
	case "json":
		if err := session.PrintJSON(a.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}); err != nil {
			return err
		}
	case "yaml":
		for i := range objects {
			text, err := yaml.Marshal(objects[i])
			if err != nil {
				return fmt.Errorf("encoding: %w", err)
			}
			a.Printf("%s%s", separator(i), text)
		}
	default:
		for i := range report.Placements {
			if err := a.printPlacement(report.Member, &report.Placements[i], o.diff); err != nil {
				return err
			}
		}
		if len(report.Placements) == 0 {
			a.Printf("nothing of the files goes to %s\n", report.Member)
		}
	}
	if failed := report.Failed(); len(failed) > 0 {
		return session.Refusedf("%s cannot be followed on %s: it would keep what it has\n  %s",
			phrase.Count(len(failed), "override"), report.Member, strings.Join(failed, "\n  "))
	}
	return nil
}

// given are the objects that a member gets; of a placement that fails there it gets nothing new.
func given(report *preview.Report) []map[string]any {
	objects := []map[string]any{}
	for i := range report.Placements {
		p := &report.Placements[i]
		if slices.ContainsFunc(p.Objects, func(o preview.Object) bool { return o.Failure != nil }) {
			continue
		}
		for j := range p.Objects {
			if o := p.Objects[j].Given; o != nil {
				objects = append(objects, o)
			}
		}
	}
	return objects
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return "---\n"
}

// printPlacement prints the objects of a placement, and then how overrides change them.
func (a commands) printPlacement(member string, p *preview.Placement, diffOnly bool) error {
	snapshot := "a snapshot that is still to be cut"
	if p.Snapshot > 0 {
		snapshot = fmt.Sprintf("snapshot %d", p.Snapshot)
	}
	a.Printf("# %s/%s on %s: %s, %s\n", p.Kind, p.Name, member, snapshot, phrase.Count(len(p.Objects), "object"))
	if p.NotPicked != "" {
		a.Printf("# it does not go to %s: %s\n", member, p.NotPicked)
	}
	var differences strings.Builder
	for i := range p.Objects {
		o := &p.Objects[i]
		before, err := textOf(o.Selected)
		if err != nil {
			return err
		}
		after, err := textOf(o.Given)
		if err != nil {
			return err
		}
		if !diffOnly || len(o.Deeds) > 0 || o.Failure != nil {
			a.Printf("%s", story(o))
		}
		if !diffOnly {
			a.Printf("%s", after)
		}
		if o.Failure == nil {
			differences.WriteString(udiff.Unified("selected/"+o.Object.String(), "given/"+o.Object.String(), before, after))
		}
	}
	failing := slices.ContainsFunc(p.Objects, func(o preview.Object) bool { return o.Failure != nil })
	switch {
	case differences.Len() > 0:
	case failing:
		a.Printf("\n")
		return nil
	default:
		a.Printf("# no override changes anything\n\n")
		return nil
	}
	a.Printf("\n")
	a.Paint(a.ColouredDiff(differences.String() + "\n"))
	return nil
}

// textOf is an object as YAML, empty for none.
func textOf(object map[string]any) (string, error) {
	if object == nil {
		return "", nil
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("encoding: %w", err)
	}
	return string(text), nil
}

// story says which override does what to an object.
func story(o *preview.Object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\n# %s%s\n", o.Object, inEnvelope(o.Envelope))
	for _, d := range o.Deeds {
		fmt.Fprintf(&b, "#   %s: %s: %s\n", d.Override, d.Path, d.What)
	}
	switch f := o.Failure; {
	case f != nil:
		fmt.Fprintf(&b, "#   fails on %s: %s: %s: %s\n", f.Member, f.Override, f.Path, f.Reason)
	case o.LeftOut:
		b.WriteString("#   left out\n")
	}
	return b.String()
}

func inEnvelope(envelope string) string {
	if envelope == "" {
		return ""
	}
	return ", of " + envelope
}
