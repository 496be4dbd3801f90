package hub

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) authCommand() *cobra.Command {
	return session.Group("auth", "Ask what you may do", a.canCommand())
}

type canOptions struct {
	list, quiet bool
}

func (a commands) canCommand() *cobra.Command {
	o := &canOptions{}
	cmd := &cobra.Command{
		Use:   "can-i (VERB [TYPE[/NAME]] | --list)",
		Short: "Say whether your role lets you do something",
		Long: `Say whether your role lets you do something: yes and exit code 0, or no and exit code 1. VERB is one of the hub's, which
--list shows, or of kubectl: create, update, replace, edit, label and annotate ask for what apply and patch do, watch and describe for what
list and get do. With TYPE the kind counts too: Secrets are read, and members changed, by fewer.`,
		Example: `  flotilla auth can-i apply placements
  flotilla auth can-i delete member/berlin
  flotilla auth can-i --list`,
		Args: cobra.MaximumNArgs(2),
		RunE: a.Do(func(ctx context.Context, args []string) error {
			switch {
			case o.list && len(args) > 0:
				return session.Usagef("found %s beside --list, expected one of them", args[0])
			case o.list:
				return a.canList(ctx)
			case len(args) == 0:
				return session.Usagef("say what: a VERB, or --list for all of them")
			}
			return a.can(ctx, o, args)
		}),
	}
	cmd.Flags().BoolVar(&o.list, "list", false, "all verbs, and whether you may use them")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print nothing, the exit code says it")
	return cmd
}

// kubectlVerbs are verbs that people know from elsewhere, by what they are here.
var kubectlVerbs = map[string]string{
	"create": api.VerbApply, "update": api.VerbApply, "replace": api.VerbApply, "edit": api.VerbPatch, "label": api.VerbPatch, "annotate": api.VerbPatch,
	"scale": api.VerbPatch, "watch": api.VerbList, "describe": api.VerbGet,
}

func (a commands) can(ctx context.Context, o *canOptions, args []string) error {
	needed, err := neededFor(args)
	if err != nil {
		return err
	}
	me, err := a.whoami(ctx)
	if err != nil {
		return err
	}
	allowed := me.Role.Covers(needed)
	switch {
	case o.quiet:
	case allowed:
		a.Printf("yes\n")
	default:
		a.Printf("no\n")
		a.Note("it needs the role %s, %s is %s", needed, me.Name, me.Role)
	}
	if !allowed {
		return session.Different()
	}
	return nil
}

// neededFor is the least role that may do what the arguments say.
func neededFor(args []string) (api.Role, error) {
	verb := cmp.Or(kubectlVerbs[args[0]], args[0])
	var words []string
	known := false
	for _, v := range api.VerbTable() {
		words = append(words, v.Verb)
		known = known || v.Verb == verb
	}
	if !known {
		return "", session.Usagef("unknown verb %q%s; flotilla auth can-i --list shows all", args[0], session.Meant(session.Nearest(args[0], words)))
	}
	needed := api.NeededFor(verb)
	if len(args) == 1 {
		return needed, nil
	}
	word, _, _ := strings.Cut(args[1], "/")
	kind, err := resource.KindByWord(word)
	if err != nil {
		return "", err
	}
	switch verb {
	case api.VerbGet, api.VerbList:
		return least(needed, api.NeededToRead(kind.APIVersion, kind.Kind)), nil
	case api.VerbApply, api.VerbPatch, api.VerbDelete:
		return least(needed, api.NeededToWrite(kind.Kind)), nil
	}
	return "", session.Usagef("%s is about no type: flotilla auth can-i %s", args[0], args[0])
}

// least is the least role that covers both.
func least(a, b api.Role) api.Role {
	if a.Covers(b) {
		return a
	}
	return b
}

func (a commands) canList(ctx context.Context) error {
	me, err := a.whoami(ctx)
	if err != nil {
		return err
	}
	table := api.VerbTable()
	slices.SortStableFunc(table, func(x, y api.VerbAccess) int { return strings.Compare(x.Verb, y.Verb) })
	w := a.Columns(2)
	session.Say(w, "VERB\tNEEDS\tALLOWED\tWHAT\n")
	for _, v := range table {
		allowed := "no"
		if me.Role.Covers(v.Needs) {
			allowed = "yes"
		}
		session.Say(w, "%s\t%s\t%s\t%s\n", v.Verb, v.Needs, allowed, v.Does)
	}
	return w.Flush()
}
