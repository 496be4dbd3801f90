package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
)

type waitOptions struct {
	selection
	condition string
	timeout   time.Duration
	all       bool
}

func (a objectCommands) waitCommand() *cobra.Command {
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
		RunE: a.do(func(ctx context.Context, args []string) error { return a.wait(ctx, o, args) }),
	}
	a.namespaceFlag(cmd.Flags())
	a.memberFlag(cmd.Flags())
	cmd.Flags().StringVar(&o.condition, "for", "", "what to wait for")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "how long; 0 waits for ever")
	cmd.Flags().StringVarP(&o.labels, "selector", "l", "", "objects of the type whose labels match")
	cmd.Flags().BoolVar(&o.all, "all", false, "every object of the type")
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "objects of every namespace")
	return cmd
}

func (a objectCommands) wait(ctx context.Context, o *waitOptions, args []string) error {
	t, err := a.parseTarget(args)
	if err != nil {
		return err
	}
	if len(t.kinds) > 0 && !o.all && o.labels == "" {
		return usagef("name the objects to wait for, or choose them with -l or --all")
	}
	if o.condition == "delete" {
		refs, err := a.refsNow(ctx, t, o.selection)
		if err != nil {
			return err
		}
		goals, err := a.goalsNow(ctx, refs)
		if err != nil {
			return err
		}
		if err := a.waitGone(ctx, goals, o.timeout); err != nil {
			return err
		}
		return a.sayGone(ctx, refs, goals)
	}
	want, err := parseFor(o.condition)
	if err != nil {
		return err
	}
	refs, err := a.refsNow(ctx, t, o.selection)
	if err != nil {
		return err
	}
	return a.waitFor(ctx, o, refs, want)
}

// sayGone says of each object that it is gone, or was not there, and who has not confirmed it: also of one
// that went before this command came, so that its answer does not hang on who was faster.
func (a objectCommands) sayGone(ctx context.Context, refs []ref, goals []goal) error {
	var failed []error
	for _, r := range refs {
		g := goal{ref: r}
		if at := slices.IndexFunc(goals, func(g goal) bool { return g.object() == r.object() }); at >= 0 {
			g = goals[at]
		}
		err := a.goneWithout(ctx, g)
		switch {
		case err != nil:
			failed = append(failed, err)
		case g.uid == "":
			a.note("%s is not there", r)
		default:
			a.printf("%s deleted\n", shownName(r.object()))
		}
	}
	return joinErrors(ExitPartial, failed)
}

// refsNow resolves the target once: objects that appear later are not waited for.
func (a objectCommands) refsNow(ctx context.Context, t target, s selection) ([]ref, error) {
	refs := t.refs
	if len(t.kinds) > 0 {
		objects, _, err := a.fetchTarget(ctx, target{kinds: t.kinds, explicit: t.explicit}, s)
		if err != nil {
			return nil, err
		}
		for _, obj := range objects {
			refs = append(refs, refOf(obj))
		}
		if len(refs) == 0 {
			return nil, &Failure{Code: ExitDifferent, Message: nothingFound(t)}
		}
	}
	return refs, nil
}

func (a objectCommands) waitFor(ctx context.Context, o *waitOptions, refs []ref, want test) error {
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	for _, r := range refs {
		found := "nothing"
		for {
			obj, err := a.fetch(ctx, r)
			switch {
			case err == nil:
				var met bool
				if met, found = want(obj); met {
					a.printf("%s condition met\n", shownName(r.object()))
				} else {
					err = errNotYet
				}
			case ctx.Err() == nil:
				return err
			}
			if err == nil {
				break
			}
			if !pause(ctx, pollInterval) {
				return o.ended(ctx, r, found)
			}
		}
	}
	return nil
}

// ended says how a wait ended in vain, and what was found last.
func (o *waitOptions) ended(ctx context.Context, r ref, found string) error {
	message := fmt.Sprintf("timed out after %s waiting for %s on %s: found %s", o.timeout, o.condition, r, found)
	if isInterrupted(ctx) {
		message = fmt.Sprintf("interrupted while waiting for %s on %s: found %s; what is under way goes on without this command", o.condition, r, found)
	}
	return &Failure{Code: ExitTimedOut, Message: message, Next: "flotilla describe " + r.String()}
}

var errNotYet = &Failure{Code: ExitDifferent}

// parseFor reads the value of --for.
func parseFor(value string) (test, error) {
	form, rest, _ := strings.Cut(value, "=")
	switch {
	case form == "condition" && rest != "":
		name, status, found := strings.Cut(rest, "=")
		if !found {
			status = "True"
		}
		return conditionTest(name, status), nil
	case form == "jsonpath" && rest != "":
		return jsonPathTest(rest)
	}
	return nil, usagef("--for: found %q, expected condition=NAME, condition=NAME=STATUS, delete, or jsonpath='{.path}'=VALUE", value)
}

func jsonPathTest(expression string) (test, error) {
	path, want, exact := strings.Cut(expression, "}=")
	if exact {
		path += "}"
	} else if !strings.HasPrefix(expression, "{") {
		path, want, exact = strings.Cut(expression, "=")
	}
	p, err := printers.NewJSONPathPrinter(relaxedPath(path))
	if err != nil {
		return nil, usagef("--for jsonpath %q: %v", path, err)
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
