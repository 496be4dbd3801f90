package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const second = time.Second

// wrote is a write of object a by a request, acknowledged within the second after it began.
func wrote(at time.Duration, request string, generation int64, revision uint64) Write {
	return Write{
		Span: Span{at, at + second}, Outcome: Acknowledged,
		State: State{Object: "a", Request: request, UID: "u1", Generation: generation, Version: Version{1, revision}},
	}
}

// tried is a write that nobody answered.
func tried(at time.Duration, request string) Write {
	return Write{Span: Span{at, at + second}, State: State{Object: "a", Request: request}}
}

func deleted(at time.Duration, uid string, outcome Outcome) Write {
	return Write{Span: Span{at, at + second}, State: State{Object: "a", Request: "gone", UID: uid}, Delete: true, Outcome: outcome}
}

func saw(at time.Duration, by Write) Read { return Read{Span: Span{at, at}, State: by.State} }

func sawNothing(at time.Duration) Read {
	return Read{Span: Span{at, at}, State: State{Object: "a"}, Absent: true}
}

func with(w Write, change func(*Write)) Write {
	change(&w)
	return w
}

func TestCheck(t *testing.T) {
	one, two, three := wrote(0, "r1", 1, 10), wrote(2*second, "r2", 2, 20), wrote(4*second, "r3", 3, 30)
	member := func(at time.Duration, request string) Shown {
		return Shown{At: at, Member: "berlin", Object: "a", Request: request}
	}
	end := func(held string) End {
		return End{
			Members: []string{"berlin"}, Objects: map[string]State{"a": two.State}, Placed: map[string]int{"a": 1},
			Held: map[string]map[string]string{"berlin": {"a": held}},
		}
	}
	for name, test := range map[string]struct {
		history History
		want    []string
	}{
		"nothing happened": {},
		"all is well": {
			history: History{
				Writes: []Write{one, two}, Reads: []Read{saw(second, one), saw(3*second, two)},
				Shown:  []Shown{member(second, "r1"), member(5*second, "r2"), member(6*second, ""), member(7*second, "r2")},
				Reigns: []Reign{{Span{0, 1}, "hub-a", 1}, {Span{2, 3}, "hub-b", 2}},
				End:    end("r2"),
			},
		},
		"a read that began before the write was answered may show what was before": {
			history: History{Writes: []Write{one, two}, Reads: []Read{{Span: Span{2 * second, 9 * second}, State: one.State}}},
		},
		"an acknowledged write is not there": {
			history: History{Writes: []Write{one, two}, Reads: []Read{saw(4*second, one)}},
			want:    []string{Backwards, Lost},
		},
		"an acknowledged object is absent": {
			history: History{Writes: []Write{one}, Reads: []Read{sawNothing(4 * second)}},
			want:    []string{Lost},
		},
		"absent after a deletion that nobody answered": {
			history: History{Writes: []Write{one, deleted(2*second, "", Unknown)}, Reads: []Read{sawNothing(4 * second)}},
		},
		"absent though the deletion was refused": {
			history: History{Writes: []Write{one, deleted(2*second, "", Refused)}, Reads: []Read{sawNothing(4 * second)}},
			want:    []string{Lost},
		},
		"absent though it was written again since": {
			history: History{Writes: []Write{one, deleted(2*second, "u1", Acknowledged), with(three, func(w *Write) { w.UID, w.Generation = "u2", 1 })}, Reads: []Read{sawNothing(6 * second)}},
			want:    []string{Lost},
		},
		"a deletion that was acknowledged did not last": {
			history: History{Writes: []Write{one, deleted(2*second, "u1", Acknowledged)}, Reads: []Read{saw(4*second, one)}},
			want:    []string{Lost},
		},
		"a write that nobody answered comes later": {
			history: History{Writes: []Write{one, tried(2*second, "r2"), with(three, func(w *Write) { w.Generation = 2 })}, Reads: []Read{saw(6*second, with(two, func(w *Write) { w.Generation, w.Revision = 3, 40 }))}},
		},
		"what nobody asked for": {
			history: History{Writes: []Write{one}, Reads: []Read{saw(4*second, two)}},
			want:    []string{Doubled, Phantom}, // nobody asked for a second generation either
		},
		"what was refused": {
			history: History{Writes: []Write{one, with(tried(2*second, "r2"), func(w *Write) { w.Outcome = Refused })}, Reads: []Read{saw(4*second, two)}},
			want:    []string{Doubled, Phantom},
		},
		"one request made two versions": {
			history: History{Writes: []Write{one, two}, Reads: []Read{saw(4*second, with(one, func(w *Write) { w.Revision, w.Generation = 30, 3 }))}},
			want:    []string{Doubled}, // by its versions; the generations say so too
		},
		"two requests made one version": {
			history: History{Writes: []Write{one, with(two, func(w *Write) { w.Version, w.Generation = one.Version, 1 })}},
			want:    []string{Doubled},
		},
		"more generations than requests": {
			history: History{Writes: []Write{one, with(two, func(w *Write) { w.Generation = 3 })}},
			want:    []string{Doubled},
		},
		"a generation falls": {
			history: History{Writes: []Write{one, two, with(three, func(w *Write) { w.Generation = 2 })}},
			want:    []string{Backwards},
		},
		"a reader is told of something older": {
			history: History{Writes: []Write{one, tried(second, "r2"), tried(second, "r3")}, Reads: []Read{saw(4*second, three), saw(5*second, two)}},
			want:    []string{Backwards},
		},
		"a member goes back": {
			history: History{Writes: []Write{one, two}, Shown: []Shown{member(5*second, "r2"), member(6*second, "r1")}},
			want:    []string{Backwards},
		},
		"an older leader answers": {
			history: History{Reigns: []Reign{{Span{0, 1}, "hub-b", 2}, {Span{2, 3}, "hub-a", 1}}},
			want:    []string{Interleaved},
		},
		"two leaders of one term": {
			history: History{Reigns: []Reign{{Span{0, 9}, "hub-b", 2}, {Span{2, 3}, "hub-a", 2}}},
			want:    []string{Interleaved},
		},
		"an older leader answered what was asked before the newer one led": {
			history: History{Reigns: []Reign{{Span{1, 2}, "hub-b", 2}, {Span{0, 3}, "hub-a", 1}}},
		},
		"two members at once": {
			history: History{Spells: []Spell{{"berlin", "a", 0, 2}, {"paris", "a", 1, 3}}},
			want:    []string{Unavailable},
		},
		"two members at once while what older data made of them is undone": {
			history: History{
				Restores: []Restore{{second, 2 * second}},
				Spells:   []Spell{{"berlin", "a", 3 * second, 5 * second}, {"paris", "a", 4 * second, 6 * second}},
			},
		},
		"two members at once before older data comes": {
			history: History{
				Restores: []Restore{{6 * second, 9 * second}},
				Spells:   []Spell{{"berlin", "a", 3 * second, 5 * second}, {"paris", "a", 4 * second, 6 * second}},
			},
			want: []string{Unavailable},
		},
		"two members at once long after older data came": {
			history: History{
				Restores: []Restore{{6 * second, 9 * second}},
				Spells:   []Spell{{"berlin", "a", time.Minute, 2 * time.Minute}, {"paris", "a", time.Minute + second, 2 * time.Minute}},
			},
			want: []string{Unavailable},
		},
		"two members at once of what is not limited": {
			history: History{Spells: []Spell{{"berlin", "b", 0, 2}, {"paris", "b", 1, 3}}},
		},
		"one member after the other, and another placement": {
			history: History{Spells: []Spell{{"berlin", "a", 0, 2}, {"paris", "a", 2, 3}, {"berlin", "b", 1, 3}, {"berlin", "a", 1, 2}}},
		},
		"a member holds what is old": {
			history: History{Writes: []Write{one, two}, End: end("r1")},
			want:    []string{NotConverged},
		},
		"a member holds nothing": {
			history: History{Writes: []Write{one, two}, End: end("")},
			want:    []string{NotConverged},
		},
		"a member holds what is deleted": {
			history: History{End: End{Members: []string{"berlin"}, Placed: map[string]int{"a": 1}, Held: end("r1").Held}},
			want:    []string{NotConverged},
		},
		"older data was restored": {
			history: History{
				Writes: []Write{one, two, wrote(9*second, "r3", 2, 20)}, Restores: []Restore{{2 * second, 8 * second}},
				Reads: []Read{saw(4*second, two), saw(8*second, one)},
				Shown: []Shown{member(5*second, "r2"), member(9*second, "r2"), member(10*second, "r1"), member(11*second, "r3")},
			},
		},
		"what is older than the data that was restored is gone": {
			history: History{Writes: []Write{one}, Restores: []Restore{{2 * second, 8 * second}}, Reads: []Read{sawNothing(9 * second)}},
			want:    []string{Lost},
		},
		"the hub names what is gone": {
			history: History{
				Writes: []Write{one, two}, Losses: []Loss{{Span: Span{5 * second, 6 * second}, Told: "ConfigMap a", Objects: []string{"a"}}},
				Reads: []Read{saw(4*second, two), saw(7*second, one)},
			},
		},
		"the hub names something else": {
			history: History{
				Writes: []Write{one, two}, Losses: []Loss{{Span: Span{5 * second, 6 * second}, Told: "ConfigMap b", Objects: []string{"b"}}},
				Reads: []Read{saw(4*second, two), saw(7*second, one)},
			},
			want: []string{Lost},
		},
		"a power cut takes what was acknowledged, and the hub says so": {
			history: History{
				Writes: []Write{one, two}, Losses: []Loss{{Span: Span{2 * second, 6 * second}, Told: "ConfigMap a", Objects: []string{"a"}, Tail: true}},
				Reads: []Read{saw(4*second, two), saw(7*second, one)},
			},
		},
		"and names something else": {
			history: History{
				Writes: []Write{one, two}, Losses: []Loss{{Span: Span{second, 6 * second}, Told: "ConfigMap b", Objects: []string{"b"}, Tail: true}},
				Reads: []Read{saw(7*second, one)},
			},
			want: []string{Lost, Unnoticed},
		},
		"and says nothing": {
			history: History{
				Writes: []Write{one, two}, Losses: []Loss{{Span: Span{second, 6 * second}, Tail: true}},
				Reads: []Read{saw(7*second, one)},
			},
			want: []string{Lost, Unnoticed},
		},
		"and what was made and deleted meanwhile is missing to nobody": {
			history: History{
				Writes: []Write{one, deleted(2*second+second/2, "u1", Acknowledged)},
				Losses: []Loss{{Span: Span{-second, 6 * second}, Tail: true}},
				Reads:  []Read{sawNothing(7 * second)},
			},
		},
		"and a deletion that nobody answered may be why": {
			history: History{
				Writes: []Write{one, deleted(2*second+second/2, "", Unknown)},
				Losses: []Loss{{Span: Span{-second, 6 * second}, Tail: true}},
				Reads:  []Read{sawNothing(7 * second)},
			},
		},
		"and what was asked for before the copy was taken may have been made after it": {
			history: History{
				Writes: []Write{with(one, func(w *Write) { w.Began, w.Ended = -2*second, 2*second }), two, deleted(4*second, "u1", Acknowledged)},
				Losses: []Loss{{Span: Span{-second, 6 * second}, Tail: true}},
				Reads:  []Read{sawNothing(7 * second)},
			},
		},
		"a deletion of what was there before is back": {
			history: History{
				Writes: []Write{one, deleted(3*second, "u1", Acknowledged)},
				Losses: []Loss{{Span: Span{2 * second, 6 * second}, Tail: true}},
			},
			want: []string{Unnoticed},
		},
		"a power cut takes what was there long before": {
			history: History{
				Writes: []Write{one}, Losses: []Loss{{Span: Span{5 * second, 6 * second}, Told: "ConfigMap a", Objects: []string{"a"}, Tail: true}},
				Reads: []Read{sawNothing(7 * second)},
			},
			want: []string{Lost},
		},
		"what was acknowledged after the restore is gone": {
			history: History{Writes: []Write{one, wrote(9*second, "r3", 2, 20)}, Restores: []Restore{{2 * second, 8 * second}}, Reads: []Read{saw(11*second, one)}},
			want:    []string{Backwards, Lost},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var rules []string
			for _, v := range Check(&test.history, Limits{MaxUnavailable: map[string]int{"a": 1}}) {
				t.Log(v)
				rules = append(rules, v.Rule)
			}
			require.Equal(t, test.want, rules)
		})
	}
}
