package overview

import (
	"cmp"
	"strings"

	"flotilla/core/api"
)

// Stands is where one member stands with a placement: a Standing with what keeps it from being available, where that is
// known.
type Stands struct {
	TroubledCell
	Sign Sign `json:"sign"`
}

// Stands lists the members of the placement at an index that are in a group, or of all groups where only is nil: the worst
// first, then by name. Members that are missing come without a name, in no group.
func (c *Cells) Stands(placement int, members []Member, by string, only *string) []Stands {
	one := &c.Placements[placement]
	known := map[string]TroubledCell{}
	out := []Stands{}
	for _, t := range one.Troubled {
		if known[t.Member] = t; t.Member == "" && only == nil {
			out = append(out, Stands{t, Warn})
		}
	}
	of := groupsOf(c.Members, members, cmp.Or(by, "region"))
	for k, name := range c.Members {
		state := one.EntryOf(k)
		if state == "" || only != nil && of[k] != *only {
			continue
		}
		cell, told := known[name]
		if !told {
			cell = TroubledCell{Member: name, State: state}
		}
		out = append(out, Stands{cell, SignOfEntry(state)})
	}
	WorstFirst(out, func(s *Stands) (Sign, string) { return s.Sign, s.Member })
	return out
}

// WorstPlacements are the placements that have all words of a text in their key, type, state, sign or message, those that do
// worst first, then by key. A ! before a word asks that it is in none of them; case does not count.
func WorstPlacements(placements []Placement, text string) []Placement {
	words := strings.Fields(strings.ToLower(text))
	kept := []Placement{}
	for i := range placements {
		if p := &placements[i]; p.has(words) {
			kept = append(kept, *p)
		}
	}
	WorstFirst(kept, func(p *Placement) (Sign, string) { return p.Sign, p.Key })
	return kept
}

func (p *Placement) has(words []string) bool {
	said := strings.ToLower(strings.Join([]string{p.Key, p.Type, p.State, p.Sign.String(), p.Message, p.Waits, p.Marks()}, "\n"))
	for _, word := range words {
		word, not := strings.CutPrefix(word, "!")
		if strings.Contains(said, word) == not {
			return false
		}
	}
	return true
}

// Marks are what a placement is beside its state, "paused pinned": of paused, frozen, pinned, held and deleting.
func (p *Placement) Marks() string {
	var marks []string
	for _, mark := range []struct {
		word string
		is   bool
	}{{"paused", p.Paused != nil && p.Frozen == ""}, {"frozen", p.Frozen != ""}, {"pinned", p.Pinned != nil}, {"held", p.Held}, {"deleting", p.Deleting}} {
		if mark.is {
			marks = append(marks, mark.word)
		}
	}
	return strings.Join(marks, " ")
}

// Missing says of a state that it is that of a member that is wanted and was not found.
func (s *Stands) Missing() bool { return s.State == api.EntryMissing }
