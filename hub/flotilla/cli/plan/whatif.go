package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/plan"
	"flotilla/core/whatif"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// whatIfOptions say how the fleet would be another one.
type whatIfOptions struct {
	without      []string
	withoutLabel string
	add          []string
}

// AddFlags adds --without, --without-label and --add.
func (o *whatIfOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.without, "without", nil, "say what would move if these members, member/NAME, left the fleet")
	flags.StringVar(&o.withoutLabel, "without-label", "", "the same of members that a selector of labels matches, such as region=eu")
	flags.StringSliceVar(&o.add, "add", nil, "file or folder of MemberClusters and placements that the fleet would have more")
}

func (o *whatIfOptions) asked() bool {
	return len(o.without) > 0 || o.withoutLabel != "" || len(o.add) > 0
}

// question is what the options ask.
func (o *whatIfOptions) question() (whatif.Question, error) {
	q := whatif.Question{WithoutLabel: o.withoutLabel}
	for _, word := range o.without {
		name := word
		if kind, rest, typed := strings.Cut(word, "/"); typed {
			k, err := resource.KindByWord(kind)
			if err != nil || k.Kind != api.KindMemberCluster || rest == "" {
				return q, session.Usagef("--without: found %q, expected member/NAME", word)
			}
			name = rest
		}
		q.Without = append(q.Without, name)
	}
	return q, nil
}

// whatIf answers what would become of the fleet.
func (a commands) whatIf(ctx context.Context, o *planOptions) error {
	if err := a.Format(o.format, "json", "wide"); err != nil {
		return err
	}
	at, err := o.Time()
	if err != nil {
		return err
	}
	question, err := o.question()
	if err != nil {
		return err
	}
	if err := o.Unused(); err != nil {
		return err
	}
	added := &offline.Source{Files: o.add}
	var documents []offline.Document
	if !added.Empty() {
		if documents, err = a.addable(added); err != nil {
			return err
		}
	}
	var answer *whatif.Answer
	if o.Offline || !a.Connection.Configured(a.Getenv) {
		answer, err = a.whatIfOffline(o, question, documents, at)
	} else {
		answer, err = a.whatIfLive(ctx, o, question, documents, at)
	}
	if err != nil {
		return offline.DescribeFaults(err, documents, added, false)
	}
	return a.printWhatIf(o, answer)
}

// addable are the members and placements among files; what else is there moves nothing.
func (a commands) addable(from *offline.Source) ([]offline.Document, error) {
	all, err := from.Read(a.Client)
	if err != nil {
		return nil, err
	}
	var kept []offline.Document
	left := map[string]int{}
	for i := range all {
		if whatif.Addable(all[i].Ref.Kind) {
			kept = append(kept, all[i])
		} else {
			left[all[i].Ref.Kind]++
		}
	}
	if len(kept) == 0 {
		return nil, session.Refusedf("--add: found %s, expected a MemberCluster or a placement: what else is applied is shown by flotilla plan -f", phrase.Count(len(all), "document"))
	}
	for _, kind := range slices.Sorted(maps.Keys(left)) {
		a.Note("%s left out: what is told is where placements go", phrase.Count(left[kind], kind))
	}
	return kept, nil
}

func (a commands) whatIfLive(ctx context.Context, o *planOptions, q whatif.Question, documents []offline.Document, at time.Time) (*whatif.Answer, error) {
	if !o.Empty() {
		return nil, session.Usagef("-f is the fleet of files, with --offline: what the fleet would have more is named with --add")
	}
	request := api.WhatIfRequest{Without: q.Without, WithoutLabel: q.WithoutLabel, Documents: bodies(documents)}
	if !at.IsZero() {
		request.Now = &metav1.Time{Time: at}
	}
	answer := &whatif.Answer{}
	return answer, a.Call(ctx, api.VerbWhatIf, request, answer)
}

// whatIfOffline answers from files.
func (a commands) whatIfOffline(o *planOptions, q whatif.Question, documents []offline.Document, at time.Time) (*whatif.Answer, error) {
	if o.Empty() {
		return nil, session.Usagef("no hub is asked: name the fleet with -f, its MemberClusters with their status and its placements")
	}
	files, err := o.Read(a.Client)
	if err != nil {
		return nil, err
	}
	base, collected, err := o.Collect(a.Client, files, at)
	if err != nil {
		return nil, err
	}
	in := whatif.Input{Members: base.Members, Now: base.Now, Notes: base.Notes, Runs: collected.Upgrades.Known.Runs}
	var unbound []string
	for i := range base.Subjects {
		in.Subjects = append(in.Subjects, whatif.Subject{Subject: base.Subjects[i], Known: true})
		if len(base.Subjects[i].Existing) == 0 {
			unbound = append(unbound, base.Subjects[i].Placement.Key())
		}
	}
	if len(unbound) > 0 {
		in.Notes = append(in.Notes, "the files do not tell what is bound now, so it is taken to be where it would be placed: "+phrase.Enumerate(unbound))
	}
	if faults := in.Add(bodies(documents)); len(faults) > 0 {
		return nil, faults
	}
	whenLeaving := func(member string) string { return whenLeavingOf(base.Standings, member) }
	if in.Without, err = q.Leaving(in.Joined(), whenLeaving); err != nil {
		return nil, err
	}
	answer := whatif.Build(in)
	return &answer, nil
}

func whenLeavingOf(standings map[string]plan.Standing, member string) string {
	if standings[member].WhenLeaving == api.WhenLeavingDelete {
		return api.WhenLeavingDelete
	}
	return api.WhenLeavingRetain
}

func bodies(documents []offline.Document) []json.RawMessage {
	var raw []json.RawMessage
	for i := range documents {
		raw = append(raw, documents[i].Body)
	}
	return raw
}

func (a commands) printWhatIf(o *planOptions, answer *whatif.Answer) error {
	if answer.LeftOut > 0 {
		answer.Notes = append(answer.Notes, fmt.Sprintf("%d gains and losses are counted and not listed", answer.LeftOut))
	}
	a.Notes(answer.Notes)
	if o.format == "json" {
		if err := session.PrintJSON(a.Out, answer.Report); err != nil {
			return err
		}
	} else {
		a.Paint(a.Coloured(answer.Text(o.format == "wide")))
	}
	if !answer.Differs() {
		return nil
	}
	return session.Different()
}
