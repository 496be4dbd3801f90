package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// shown is how many gains and losses of one placement the text lists, and how many names a line.
const (
	shown      = 10
	shownNames = 5
)

// Text renders the answer for people: + for members that a placement gains, - for those that it loses. Wide lists all of
// them, with scores.
func (a *Answer) Text(wide bool) string {
	var b strings.Builder
	a.writeQuestion(&b)
	for i := range a.Placements {
		a.Placements[i].write(&b, wide)
	}
	for i := range a.Runs {
		a.Runs[i].write(&b)
	}
	b.WriteString(a.Summary() + "\n")
	return b.String()
}

// writeQuestion says what the answer is about.
func (a *Answer) writeQuestion(b *strings.Builder) {
	for i := range a.Without {
		if i == shown && len(a.Without) > shown+1 {
			fmt.Fprintf(b, "without %d more\n", len(a.Without)-shown)
			break
		}
		l := &a.Without[i]
		what := "what is placed on it stays there"
		if l.WhenLeaving == api.WhenLeavingDelete {
			what = "what is placed on it is taken off"
		}
		if l.Placements == 0 {
			what = "nothing is placed on it"
		}
		fmt.Fprintf(b, "without member %s: %s\n", l.Member, after(what, l.Placements))
	}
	if n := len(a.Added.Members); n > 0 {
		fmt.Fprintf(b, "with %s more or changed: %s\n", phrase.Count(n, "member"), phrase.Names(a.Added.Members, shownNames))
	}
	if n := len(a.Added.Placements); n > 0 {
		fmt.Fprintf(b, "with %s more or changed: %s\n", phrase.Count(n, "placement"), phrase.Names(a.Added.Placements, shownNames))
	}
	b.WriteString("\n")
}

func after(what string, placements int) string {
	if placements == 0 {
		return what
	}
	return fmt.Sprintf("%s (%s)", what, phrase.Count(placements, "placement"))
}

// Summary counts what changes in one line.
func (a *Answer) Summary() string {
	t := &a.Totals
	text := fmt.Sprintf("what if: %d of %s %s, %d to gain, %d to lose", t.Changed, phrase.Count(t.Placements, "placement"),
		phrase.Plural(t.Changed, "changes", "change"), t.Gains, t.Losses)
	if t.Unfilled.Before+t.Unfilled.After > 0 {
		text += fmt.Sprintf("; %d not filled, %d before", t.Unfilled.After, t.Unfilled.Before)
	}
	if t.BrokenSpread > 0 {
		text += fmt.Sprintf("; %s broken", phrase.Count(t.BrokenSpread, "spread"))
	}
	if t.Nowhere > 0 {
		text += "; " + phrase.Count(t.Nowhere, "placement") + " on no member any more"
	}
	return text
}

func (p *Placement) write(b *strings.Builder, wide bool) {
	fmt.Fprintf(b, "%s/%s (%s)%s: %s\n", p.Kind, p.Name, p.Type, p.how(), p.numbers())
	limit := shown
	if wide {
		limit = max(len(p.Gains), len(p.Losses))
	}
	for i := range p.Gains[:min(limit, len(p.Gains))] {
		g := &p.Gains[i]
		fmt.Fprintf(b, "  + %s%s\n", g.Member, scores(g, wide))
	}
	more(b, "+", p.Gained-min(limit, len(p.Gains)))
	for i := range p.Losses[:min(limit, len(p.Losses))] {
		l := &p.Losses[i]
		fmt.Fprintf(b, "  - %s: %s; %s\n", l.Member, l.Reason, becomes(l.Objects))
	}
	more(b, "-", p.Lost-min(limit, len(p.Losses)))
	for _, name := range p.Missing {
		fmt.Fprintf(b, "  ! clusterNames names %s, which is gone\n", name)
	}
	p.writeUnfilled(b)
	for i := range p.Spread {
		p.Spread[i].write(b)
	}
	b.WriteString("\n")
}

func (p *Placement) how() string {
	switch {
	case p.New:
		return ", new"
	case p.Changed:
		return ", changed"
	}
	return ""
}

// numbers is "on 2 of 3, before 3 of 3".
func (p *Placement) numbers() string {
	of := ""
	if p.Wanted != nil {
		of = fmt.Sprintf(" of %d", *p.Wanted)
	}
	text := fmt.Sprintf("on %d%s", p.Picked.After, of)
	if p.Picked.After == 0 && p.Picked.Before > 0 {
		text = "on no member any more"
	}
	if !p.New {
		text += fmt.Sprintf(", before on %d", p.Picked.Before)
	}
	return text
}

func scores(g *Gain, wide bool) string {
	if !wide || g.AffinityScore == nil || g.TopologySpreadScore == nil {
		return ""
	}
	return fmt.Sprintf("  affinity score %d, topology spread score %d", *g.AffinityScore, *g.TopologySpreadScore)
}

func becomes(objects string) string {
	if objects == ObjectsStay {
		return "what is there stays"
	}
	return "what is there is taken off"
}

func more(b *strings.Builder, mark string, n int) {
	if n > 0 {
		fmt.Fprintf(b, "  %s %d more\n", mark, n)
	}
}

// writeUnfilled says which slots are not filled and why, and what would fill one.
func (p *Placement) writeUnfilled(b *strings.Builder) {
	if p.Unfilled.After == 0 {
		return
	}
	fmt.Fprintf(b, "  ! %s not filled, %d before\n", slots(p.Unfilled.After), p.Unfilled.Before)
	for i, u := range p.Unpicked {
		if i == shownNames {
			fmt.Fprintf(b, "    %d more\n", len(p.Unpicked)-i)
			break
		}
		fmt.Fprintf(b, "    %s: %s\n", u.Member, u.Reason)
	}
	if p.Fill == nil {
		fmt.Fprintf(b, "    %s\n", p.NoFill)
		return
	}
	fmt.Fprintf(b, "    %s would fill one: %s\n", p.Fill.Member, p.Fill.Text)
	if p.Fill.Command != "" {
		fmt.Fprintf(b, "      %s\n", p.Fill.Command)
	}
}

func slots(n int) string {
	return phrase.Count(n, "slot") + phrase.Plural(n, " is", " are")
}

func (s *Spread) write(b *strings.Builder) {
	mark, holds := "~", "within"
	switch {
	case s.Broken:
		mark, holds = "!", "is broken, beyond"
	case s.Skew.After > int(s.MaxSkew):
		holds = "still beyond"
	}
	fmt.Fprintf(b, "  %s spread over %s: skew %d, before %d, %s maxSkew %d; emptiest %s, fullest %s\n",
		mark, s.TopologyKey, s.Skew.After, s.Skew.Before, holds, s.MaxSkew, cmp.Or(s.Emptiest, "none"), cmp.Or(s.Fullest, "none"))
}

func (r *Run) write(b *strings.Builder) {
	what := "updaterun/" + r.Name
	if r.Placement != "" {
		what = fmt.Sprintf("staged run %s of placement/%s", r.Name, r.Placement)
	}
	fmt.Fprintf(b, "%s (%s)\n", what, r.State)
	for _, group := range []struct {
		members []string
		what    string
	}{{r.Skipped, "skips"}, {r.Awaited, "waits, until its timeout, for the upgrade that runs on"}} {
		if len(group.members) > 0 {
			fmt.Fprintf(b, "  ~ %s %s\n", group.what, phrase.Names(slices.Clone(group.members), shownNames))
		}
	}
	b.WriteString("\n")
}
