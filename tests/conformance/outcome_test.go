package conformance

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// outcome is how one case went.
type outcome struct {
	id          string
	decision    string   // of the specification, that explains the disagreement; empty for none
	differences []string // what the core answered otherwise, empty when it agrees
}

// failed reports whether the case disagrees without a decision that says why.
func (o outcome) failed() bool { return len(o.differences) > 0 && o.decision == "" }

// named is a case of some recording.
type named[T any] interface {
	*T
	name() string
}

func (c *placementCase) name() string     { return c.ID }
func (c *budgetCase) name() string        { return c.ID }
func (c *consolidationCase) name() string { return c.ID }
func (c *windowCase) name() string        { return c.ID }
func (c *versionCase) name() string       { return c.ID }
func (c *runCase) name() string           { return c.ID }

// judgeEach judges every case.
func judgeEach[T any, P named[T]](cases []T, judge func(P) outcome) []outcome {
	out := make([]outcome, len(cases))
	for i := range cases {
		out[i] = guarded(P(&cases[i]).name(), func() outcome { return judge(&cases[i]) })
	}
	return out
}

// guarded judges one case. Where that panics, the case has failed and the others are judged all the same.
func guarded(id string, judge func() outcome) (o outcome) {
	defer func() {
		if fault := recover(); fault != nil {
			o = outcome{id: id, differences: []string{panicText(fault)}}
		}
	}()
	return judge()
}

func panicText(fault any) string { return fmt.Sprintf("it panics: %v\n%s", fault, debug.Stack()) }

// explained are the cases that disagree for a decision, by it, sorted.
func explained(outcomes []outcome) map[string][]string {
	ids := map[string][]string{}
	for _, o := range outcomes {
		if len(o.differences) > 0 && o.decision != "" {
			ids[o.decision] = append(ids[o.decision], o.id)
		}
	}
	for _, cases := range ids {
		slices.Sort(cases)
	}
	return ids
}

// summary is the line that a recording's test prints.
func summary(recording string, outcomes []outcome) string {
	agree, byDecision := 0, 0
	for _, o := range outcomes {
		if len(o.differences) == 0 {
			agree++
		}
	}
	var groups []string
	for decision, cases := range explained(outcomes) {
		byDecision += len(cases)
		groups = append(groups, decision+" "+strings.Join(cases, " "))
	}
	slices.Sort(groups)
	line := fmt.Sprintf("%s: %d cases, %d agree, %d by decision", recording, len(outcomes), agree, byDecision)
	if len(groups) > 0 {
		line += " (" + strings.Join(groups, ", ") + ")"
	}
	return line
}

// report prints the summary and fails for every case that disagrees, and when decisions explain more
// cases than they may.
func report(t *testing.T, recording string, outcomes []outcome, granted grants) {
	t.Helper()
	require.NotEmpty(t, outcomes, "%s holds no case", recording)
	fmt.Println(summary(recording, outcomes))
	for _, o := range outcomes {
		if o.failed() {
			t.Errorf("%s case %s:\n  %s", recording, o.id, strings.Join(o.differences, "\n  "))
		}
	}
	for _, text := range granted.bound(outcomes) {
		t.Errorf("%s: %s", recording, text)
	}
}

// bound says where decisions explain more than they may of the recordings that are read.
func (g grants) bound(outcomes []outcome) []string {
	if recordingDir() != ownRecordings {
		return exceededShare(outcomes)
	}
	return g.exceeded(outcomes)
}

// grant is what one decision may explain of the repository's own recordings: these cases, or so many.
type grant struct {
	cases []string
	most  int
}

// grants are those of a recording, by decision.
type grants map[string]grant

// exceeded says where decisions explain other cases, or more, than the specifications grant in these
// very files.
func (g grants) exceeded(outcomes []outcome) []string {
	var out []string
	for decision, cases := range explained(outcomes) {
		allowed := g[decision]
		switch {
		case allowed.cases == nil && len(cases) > allowed.most:
			out = append(out, fmt.Sprintf("%s explains %d cases, the specification grants %d: %s", decision, len(cases), allowed.most, strings.Join(cases, " ")))
		case allowed.cases != nil && slices.ContainsFunc(cases, func(id string) bool { return !slices.Contains(allowed.cases, id) }):
			out = append(out, fmt.Sprintf("%s explains %s, the specification grants %s", decision, strings.Join(cases, " "), strings.Join(allowed.cases, " ")))
		}
	}
	slices.Sort(out)
	return out
}

// What decisions may explain of recordings that nobody here has seen: a share, or a few of a small file.
const (
	mostPercent = 8
	mostFew     = 3
)

func exceededShare(outcomes []outcome) []string {
	n, all := 0, explained(outcomes)
	for _, cases := range all {
		n += len(cases)
	}
	if n <= mostFew || n*100 <= mostPercent*len(outcomes) {
		return nil
	}
	return []string{fmt.Sprintf("decisions explain %d of %d cases, more than %d and more than %d %%", n, len(outcomes), mostFew, mostPercent)}
}
