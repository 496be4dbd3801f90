package object

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
)

type waitOptions struct {
	resource.Selection
	condition string
	timeout   time.Duration
	all       bool
}

func (a Commands) waitCommand() *cobra.Command {
	o := &waitOptions{}
	cmd := &cobra.Command{
		Use:   "wait TYPE/NAME… --for=condition=NAME[=STATUS] | --for=delete | --for=jsonpath='{…}'[=VALUE]",
		Short: "Wait until objects are as wanted; exit 124 when the time is up, or a signal ends it",
		Long: `Wait until every named object has a condition, is gone, or has a value at a JSONPath.

A condition counts only when it was observed on the object's present generation. Names of placement
conditions may leave out the kind: Available is ClusterResourcePlacementAvailable.`,
		Example: `  flotilla wait placement/web --for=condition=Available --timeout=2m
  flotilla wait member/berlin --for=jsonpath='{.status.state}'=Ready
  flotilla wait placement/web --for=delete`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.wait(ctx, o, args) }),
	}
	a.NamespaceFlag(cmd.Flags())
	a.MemberFlag(cmd.Flags())
	cmd.Flags().StringVar(&o.condition, "for", "", "what to wait for")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "how long; 0 waits for ever")
	cmd.Flags().StringVarP(&o.Labels, "selector", "l", "", "objects of the type whose labels match")
	cmd.Flags().BoolVar(&o.all, "all", false, "every object of the type")
	cmd.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "objects of every namespace")
	return cmd
}

func (a Commands) wait(ctx context.Context, o *waitOptions, args []string) error {
	t, err := a.ParseTarget(args)
	if err != nil {
		return err
	}
	if len(t.Kinds) > 0 && !o.all && o.Labels == "" {
		return session.Usagef("name the objects to wait for, or choose them with -l or --all")
	}
	if o.condition == "delete" {
		refs, err := a.refsNow(ctx, t, o.Selection)
		if err != nil {
			return err
		}
		goals, err := a.GoalsNow(ctx, refs)
		if err != nil {
			return err
		}
		if err := a.WaitGone(ctx, goals, o.timeout); err != nil {
			return err
		}
		return a.sayGone(ctx, refs, goals)
	}
	want, err := parseFor(o.condition)
	if err != nil {
		return err
	}
	refs, err := a.refsNow(ctx, t, o.Selection)
	if err != nil {
		return err
	}
	return a.waitFor(ctx, o, refs, want)
}

// sayGone says of each object that it is gone, or was not there, and who has not confirmed it: also of one
// that went before this command came, so that its answer does not hang on who was faster.
func (a Commands) sayGone(ctx context.Context, refs []resource.Ref, goals []resource.Goal) error {
	var failed []error
	for _, r := range refs {
		g := resource.Goal{Ref: r}
		if at := slices.IndexFunc(goals, func(g resource.Goal) bool { return g.Object() == r.Object() }); at >= 0 {
			g = goals[at]
		}
		err := a.GoneWithout(ctx, g)
		switch {
		case err != nil:
			failed = append(failed, err)
		case g.UID == "":
			a.Note("%s is not there", r)
		default:
			a.Printf("%s deleted\n", resource.ShownName(r.Object()))
		}
	}
	return resource.JoinErrors(session.ExitPartial, failed)
}

// refsNow resolves the target once: objects that appear later are not waited for.
func (a Commands) refsNow(ctx context.Context, t resource.Target, s resource.Selection) ([]resource.Ref, error) {
	refs := t.Refs
	if len(t.Kinds) > 0 {
		objects, _, err := a.FetchTarget(ctx, resource.Target{Kinds: t.Kinds, Explicit: t.Explicit}, s)
		if err != nil {
			return nil, err
		}
		for _, obj := range objects {
			refs = append(refs, resource.RefOf(obj))
		}
		if len(refs) == 0 {
			return nil, &session.Failure{Code: session.ExitDifferent, Message: nothingFound(t)}
		}
	}
	return refs, nil
}

func (a Commands) waitFor(ctx context.Context, o *waitOptions, refs []resource.Ref, want resource.Test) error {
	ctx, cancel := session.WithTimeout(ctx, o.timeout)
	defer cancel()
	for _, r := range refs {
		found := "nothing"
		for {
			obj, err := a.Fetch(ctx, r)
			switch {
			case err == nil:
				var met bool
				if met, found = want(obj); met {
					a.Printf("%s condition met\n", resource.ShownName(r.Object()))
				} else {
					err = errNotYet
				}
			case ctx.Err() == nil:
				return err
			}
			if err == nil {
				break
			}
			if !session.Pause(ctx, session.PollInterval) {
				return o.ended(ctx, r, found)
			}
		}
	}
	return nil
}

// ended says how a wait ended in vain, and what was found last.
func (o *waitOptions) ended(ctx context.Context, r resource.Ref, found string) error {
	message := fmt.Sprintf("timed out after %s waiting for %s on %s: found %s", o.timeout, o.condition, r, found)
	if session.IsInterrupted(ctx) {
		message = fmt.Sprintf("interrupted while waiting for %s on %s: found %s; what is under way goes on without this command", o.condition, r, found)
	}
	return &session.Failure{Code: session.ExitTimedOut, Message: message, Next: "flotilla describe " + r.String()}
}

var errNotYet = &session.Failure{Code: session.ExitDifferent}

// parseFor reads the value of --for.
func parseFor(value string) (resource.Test, error) {
	form, rest, _ := strings.Cut(value, "=")
	switch {
	case form == "condition" && rest != "":
		name, status, found := strings.Cut(rest, "=")
		if !found {
			status = "True"
		}
		return resource.ConditionTest(name, status), nil
	case form == "jsonpath" && rest != "":
		return jsonPathTest(rest)
	}
	return nil, session.Usagef("--for: found %q, expected condition=NAME, condition=NAME=STATUS, delete, or jsonpath='{.path}'=VALUE", value)
}

func jsonPathTest(expression string) (resource.Test, error) {
	path, want, exact := strings.Cut(expression, "}=")
	if exact {
		path += "}"
	} else if !strings.HasPrefix(expression, "{") {
		path, want, exact = strings.Cut(expression, "=")
	}
	p, err := printers.NewJSONPathPrinter(show.RelaxedPath(path))
	if err != nil {
		return nil, session.Usagef("--for jsonpath %q: %v", path, err)
	}
	p.AllowMissingKeys(true)
	return func(obj *unstructured.Unstructured) (bool, string) {
		values, err := p.FindResults(obj.Object)
		if err != nil || len(values) == 0 || len(values[0]) == 0 {
			return false, "no such field"
		}
		got := fmt.Sprint(values[0][0].Interface())
		return !exact || got == want, got
	}, nil
}
