package object

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// pruning is the set that documents are applied with, and what becomes of the rest of it.
type pruning struct {
	set              string
	prune, move, yes bool
}

func (p *pruning) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&p.set, "set", "", "the set that the objects are of from then on")
	flags.BoolVar(&p.prune, "prune", false, "delete what else is in the set")
	flags.BoolVar(&p.move, "move", false, "take objects that are in another set")
	flags.BoolVar(&p.yes, "yes", false, "prune without being asked, and also what takes away much at once")
}

func (p *pruning) check() error {
	switch {
	case p.set == "" && p.prune:
		return session.Usagef("found --prune without --set, expected --set NAME: what else was applied with that set is deleted")
	case p.set == "" && p.move:
		return session.Usagef("found --move without --set, expected --set NAME: the set that objects move to")
	case p.yes && !p.prune:
		return session.Usagef("found --yes without --prune: nothing is asked")
	}
	return nil
}

func (p *pruning) of(request *api.ApplyRequest) {
	request.Set, request.Prune, request.Move, request.Yes = p.set, p.prune, p.move, p.yes
}

// showPruned says what an apply would prune before it does, and asks for it where somebody is there to answer.
func (a Commands) showPruned(ctx context.Context, request *api.ApplyRequest) error {
	trial := *request
	trial.DryRun, trial.Request = true, resource.NewRequestID()
	var reply api.ApplyResponse
	if err := a.Call(ctx, api.VerbApply, &trial, &reply); err != nil {
		return err
	}
	pruned := 0
	for i := range reply.Results {
		if r := &reply.Results[i]; r.Action == api.ActionDeleted || r.Action == api.ActionDeleting {
			a.Note("not among the files: %s", strings.Join(append([]string{resource.ShownName(r.Object)}, r.Notes...), "; "))
			pruned++
		}
	}
	if pruned == 0 || request.Yes || !a.Asks() {
		return nil
	}
	a.Notes(reply.Notes)
	if !a.Consents(fmt.Sprintf("Delete %s of set %s?", phrase.Count(pruned, "object"), request.Set)) {
		return session.Refusedf("nothing was applied")
	}
	request.Yes = true
	return nil
}
