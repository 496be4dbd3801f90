package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Result is what came of one campaign.
type Result struct {
	Name  string // such as single-17
	Again string // the command that repeats it
	// Faults are the kinds of what was done, one for each time.
	Faults []string
	// History is nil where the campaign did not come to its end.
	History *History
	Broken  []Violation
	Failed  bool // for whatever reason
}

// outcome says in a few words how a campaign ended.
func (r *Result) outcome() string {
	broken := map[string]int{}
	for _, v := range r.Broken {
		broken[v.Rule]++
	}
	var words []string
	for _, rule := range slices.Sorted(maps.Keys(broken)) {
		words = append(words, fmt.Sprintf("%s %d", rule, broken[rule]))
	}
	switch {
	case len(words) > 0:
		return "FAILED: " + strings.Join(words, ", ")
	case r.History == nil:
		return "FAILED: it did not come to its end"
	case r.Failed:
		return "FAILED: no promise was broken that is checked afterwards; its log says more"
	}
	return "held"
}

// Summary adds up campaigns. Its methods may be called from any goroutine.
type Summary struct {
	mu      sync.Mutex
	results []Result
}

// Add takes a campaign in, and returns a line about it.
func (s *Summary) Add(r Result) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, r)
	return fmt.Sprintf("%d: %s %s", len(s.results), r.Name, r.outcome())
}

// row is one kind of fault, or all campaigns.
type row struct {
	times, runs, failed, acknowledged       int
	doubled, backwards, lost, others, named int
}

func (r *row) add(one *Result) {
	r.runs++
	if one.Failed {
		r.failed++
	}
	for _, v := range one.Broken {
		switch v.Rule {
		case Doubled:
			r.doubled++
		case Backwards:
			r.backwards++
		case Lost, Unnoticed:
			r.lost++
		default:
			r.others++
		}
	}
	if one.History == nil {
		return
	}
	for i := range one.History.Writes {
		if one.History.Writes[i].Outcome == Acknowledged {
			r.acknowledged++
		}
	}
	named := map[string]bool{} // a loss may have been told to several
	for i := range one.History.Losses {
		for _, object := range one.History.Losses[i].Objects {
			named[object] = true
		}
	}
	r.named += len(named)
}

// rows are those of each kind of fault that was tried, and that of all campaigns.
func (s *Summary) rows() (byKind map[string]*row, all row) {
	byKind = map[string]*row{}
	for i := range s.results {
		r := &s.results[i]
		all.add(r)
		for _, kind := range r.Faults {
			if byKind[kind] == nil {
				byKind[kind] = &row{}
			}
			byKind[kind].times++
			all.times++
		}
		for _, kind := range slices.Compact(slices.Sorted(slices.Values(r.Faults))) {
			byKind[kind].add(r)
		}
	}
	return byKind, all
}

// legend says what a person at night may not remember.
const legend = `
A campaign counts in the row of each fault that was part of it, so rows add up to more than the last one.
acknowledged     writes that a hub said were done
doubled          objects of which one request made two versions
backwards        objects of which something older was seen after something newer
lost unnoticed   objects of which an acknowledged write is gone, and no hub said so
other breaks     objects that nobody asked for, that two hubs decided at once, that were unavailable on too many members,
                 or that members hold otherwise than placed
named gone       objects that a hub named as gone before it led again, after its only disk was damaged: no break
docs/faults.md says what each fault is.
`

// Report is the table of all campaigns, and how those that failed are repeated; empty when there were none. Kinds
// are all that could have been drawn.
func (s *Summary) Report(took time.Duration, kinds []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.results) == 0 {
		return ""
	}
	byKind, all := s.rows()
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s: %d campaigns in %s, %d failed; %d doubled, %d backwards, %d lost unnoticed, %d other breaks\n\n", verdict(&all),
		all.runs, took.Round(time.Second), all.failed, all.doubled, all.backwards, all.lost, all.others)
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "fault\ttimes\tcampaigns\tfailed\tacknowledged\tdoubled\tbackwards\tlost unnoticed\tother breaks\tnamed gone\t")
	line := func(name string, r *row) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name,
			r.times, r.runs, r.failed, r.acknowledged, r.doubled, r.backwards, r.lost, r.others, r.named)
	}
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		line(kind, byKind[kind])
	}
	line("all", &all)
	_ = table.Flush() // into memory
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return byKind[kind] != nil })
	if len(kinds) > 0 {
		fmt.Fprintf(&out, "\nNot drawn this time: %s.\n", strings.Join(kinds, ", "))
	}
	out.WriteString(legend)
	s.failures(&out)
	return out.String()
}

func verdict(all *row) string {
	if all.failed > 0 {
		return "BROKEN"
	}
	return "HELD"
}

// failures lists what failed, by name, with what to type.
func (s *Summary) failures(out *strings.Builder) {
	failed := slices.DeleteFunc(slices.Clone(s.results), func(r Result) bool { return !r.Failed })
	if len(failed) == 0 {
		return
	}
	slices.SortFunc(failed, func(a, b Result) int { return strings.Compare(a.Name, b.Name) })
	out.WriteString("\nFailed, and how to repeat each:\n")
	for i := range failed {
		fmt.Fprintf(out, "  %s %s\n    %s\n", failed[i].Name, failed[i].outcome(), failed[i].Again)
	}
}
