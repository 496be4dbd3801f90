package verdict

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/tests/limits"
)

// smallVerdicts has a picked member, a kept one, and one refused by each filter.
func smallVerdicts() Verdicts {
	want := int32(3)
	v := Verdicts{
		Header: api.NewHeader(api.KindVerdicts), Placement: "web", UID: "u1", Generation: 4, Type: api.PickN, Want: &want,
		Members:  []string{"affine", "evicted", "kept", "missing", "offline", "picked", "ranked", "remote", "spread", "tainted"},
		Outcomes: make([]Outcome, 10), First: make([]int32, 10),
		Affinity: []int32{0, 0, -7, 0, 0, 20, 3, 0, 0, 0}, Spread: []int32{0, 0, 1, 0, 0, -1, -1000, 0, 0, 0},
		Terms: 2,
		Wants: []Want{
			{Kind: WantLabel, Subject: "region", Wanted: "In (eu)", Values: []string{"", "us", ""}},
			{Kind: WantProperty, Subject: "version", Wanted: ">= 2", Values: []string{"", "v1", "1"}},
			{Subject: "last received {} minutes ago", Wanted: "at most 5.00"},
			{Subject: "taint not tolerated"},
			{Kind: WantSpread, Subject: `violated "zone"`, Wanted: "emptiest 0, fullest 2", Values: []string{"", "z1"}},
			{Subject: "namespace is missing", Wanted: "namespace apps"},
			{Subject: "was evicted"},
		},
		Causes: []Cause{
			{Want: 0, Value: 1}, {Want: 1, Value: -1}, // affine
			{Want: 0, Value: 2}, {Want: 1, Value: 0}, // kept, today
			{Want: 2, Number: 600}, {Want: 3}, {Want: 4, Value: 1, Number: 2}, {Want: 5}, {Want: 6},
		},
	}
	for i, o := range map[int]Outcome{
		0: OutcomeAffinity, 1: OutcomePlaced, 2: OutcomeAffinity | OutcomePicked | OutcomeScored, 3: OutcomeNotFound,
		4: OutcomeEligibility | OutcomeKeeps, 5: OutcomePicked | OutcomeScored | OutcomeUsed, 6: OutcomeRank | OutcomeScored,
		7: OutcomeNamespace, 8: OutcomeSpread, 9: OutcomeTaint,
	} {
		v.Outcomes[i] = o
	}
	for i, first := range map[int]int32{0: 0, 1: 8, 2: 2, 4: 4, 7: 7, 8: 6, 9: 5} {
		v.First[i] = first
	}
	v.Rank()
	return v
}

func TestVerdictSentences(t *testing.T) {
	v := smallVerdicts()
	want := map[string]string{
		"affine": "affinity: ClusterUnschedulable, cluster does not match with any of the required cluster affinity terms: " +
			`term 1: region is "us", wanted In (eu); term 2: version is "v1", which is not a quantity, wanted >= 2`,
		"evicted": "placed: ClusterUnschedulable, was evicted",
		"kept": `: Successfully scheduled resources for placement in "kept" (affinity score: -7, topology spread score: 1): picked by scheduling policy; ` +
			"it keeps its place, a new pick would be refused: cluster does not match with any of the required cluster affinity terms: " +
			`term 1: region is "", wanted In (eu); term 2: version is absent, wanted >= 2`,
		"missing": `notFound: Specified cluster "missing" is not found`,
		"offline": "eligibility: ClusterUnschedulable, last received 6.00 minutes ago, wanted at most 5.00",
		"picked":  `: Successfully scheduled resources for placement in "picked" (affinity score: 20, topology spread score: -1): picked by scheduling policy`,
		"ranked":  `rank: Cluster "ranked" does not score high enough (affinity score: 3, topology spread score: -1000): ranks 3, wanted 3`,
		"remote":  "namespace: ClusterUnschedulable, namespace is missing, wanted namespace apps",
		"spread":  `spread: ClusterUnschedulable, violated "zone": "z1" holds 2, emptiest 0, fullest 2`,
		"tainted": "taint: ClusterUnschedulable, taint not tolerated",
	}
	for _, row := range v.All() {
		require.Equal(t, want[row.Member], row.Filter+": "+row.Reason)
	}
	require.Equal(t, "2 picked, 1 affinity, 1 eligibility, 1 namespace, 1 taint, 1 placed, 1 spread, 1 rank, 1 notFound of 10", v.String())
	kept, _ := v.Of("kept")
	require.Equal(t, Verdict{Member: "kept", Picked: true, Reason: kept.Reason, AffinityScore: new(int32(-7)), TopologySpreadScore: new(int32(1)), Rank: 1}, kept)
	offline, _ := v.Of("offline")
	require.True(t, offline.Keeps)
	_, judged := v.Of("nobody")
	require.False(t, judged)
}

func TestRanksArePickedFirst(t *testing.T) {
	v := smallVerdicts()
	require.Equal(t, []int32{0, 0, 1, 0, 0, 2, 3, 0, 0, 0}, v.Ranks)
	require.Less(t, RankKey(100, -1, true), RankKey(-100, 0, false), "spread goes before affinity")
	require.Less(t, RankKey(1, 0, true), RankKey(2, 0, false), "affinity goes before use")
	require.Less(t, RankKey(1, 0, false), RankKey(1, 0, true))
	require.Less(t, RankKey(1<<30, 1<<30, true), RankPicked)
}

func TestVerdictsRoundTrip(t *testing.T) {
	v := smallVerdicts()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var read Verdicts
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, v.All(), read.All())
	require.True(t, v.Equal(&read))
	again, err := json.Marshal(&read)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(again))
}

func TestVerdictsTellChanges(t *testing.T) {
	for name, change := range map[string]func(*Verdicts){
		"placement": func(v *Verdicts) { v.Placement = "other" },
		"want":      func(v *Verdicts) { v.Want = nil },
		"outcome":   func(v *Verdicts) { v.Outcomes[9] |= OutcomeKeeps },
		"score":     func(v *Verdicts) { v.Affinity[6]++ },
		"observed":  func(v *Verdicts) { v.Wants[0].Values[1] = "asia" },
		"wanted":    func(v *Verdicts) { v.Wants[0].Wanted = "In (asia)" },
		"oddness":   func(v *Verdicts) { v.Causes[1].Value = 1 },
		"members":   func(v *Verdicts) { v.Members[0] = "affable" },
	} {
		v, other := smallVerdicts(), smallVerdicts()
		require.True(t, v.Equal(&other))
		change(&other)
		require.False(t, v.Equal(&other), name)
		require.False(t, v.Agrees(&other), name)
	}
	v, older := smallVerdicts(), smallVerdicts()
	older.Causes[4].Number = 700
	require.False(t, v.Equal(&older))
	require.True(t, v.Agrees(&older), "ages grow by themselves")
}

func TestBrokenVerdictsAreRefused(t *testing.T) {
	text, err := json.Marshal(smallVerdicts())
	require.NoError(t, err)
	for field, c := range map[string]struct {
		value any
		want  string
	}{
		"outcomes": {"AB", "2 outcomes for 10 members"},
		"legend":   {[]int{1}, `outcome 'B' is not in the legend of 1`},
		"affinity": {[]int{1}, "1 affinity scores for 3 scored members"},
		"spread":   {[]int{1, 2, 3, 4}, "4 spread scores for 3 scored members"},
		"terms":    {1, "where the outcomes have"},
		"wants":    {[]Want{}, "wants what is not in its table"},
		"causes":   {causeColumns{Want: []int32{0}, Value: []string{}}, "columns of causes differ in length"},
	} {
		var whole map[string]any
		require.NoError(t, json.Unmarshal(text, &whole))
		whole[field] = c.value
		broken, err := json.Marshal(whole)
		require.NoError(t, err)
		var v Verdicts
		require.ErrorContains(t, json.Unmarshal(broken, &v), c.want, field)
	}
	var columns map[string]any
	require.NoError(t, json.Unmarshal(text, &columns))
	for _, c := range []causeColumns{
		{Want: []int32{0}, Value: []string{""}, Use: []int32{2}},
		{Want: []int32{0}, Value: []string{""}, Use: []int32{0, 0}},
		{Want: []int32{0}, Value: []string{""}, Absent: []int{3}},
		{Want: []int32{0}, Value: []string{""}, Odd: []int{-1}},
		{Want: []int32{-1}, Value: []string{""}},
	} {
		columns["causes"] = c
		broken, err := json.Marshal(columns)
		require.NoError(t, err)
		var v Verdicts
		require.Error(t, json.Unmarshal(broken, &v))
	}
}

// Ten thousand verdicts, with scores spread over a hundred values and every fifth refused, take
// about 75 KiB once gzipped.
func TestTenThousandVerdictsAreSmall(t *testing.T) {
	const n = 10000
	v := Verdicts{
		Header: api.NewHeader(api.KindVerdicts), Placement: "web", Type: api.PickN, Want: new(int32(10)), Terms: 1,
		Members: make([]string, n), Outcomes: make([]Outcome, n), First: make([]int32, n), Affinity: make([]int32, n), Spread: make([]int32, n),
		Wants: []Want{{Kind: WantProperty, Subject: api.PropertyNodeCount, Wanted: ">= 5", Values: []string{"", "1", "2", "3", "4"}}},
	}
	for i := range n {
		v.Members[i] = fmt.Sprintf("aks-%05d", i)
		v.Outcomes[i], v.Affinity[i] = OutcomeRank|OutcomeScored, int32(i*7919%101)
		if i%5 == 0 {
			v.Outcomes[i], v.Affinity[i] = OutcomeAffinity, 0
			v.First[i] = int32(len(v.Causes))
			v.Causes = append(v.Causes, Cause{Value: int32(i*31%4 + 1)})
		}
	}
	v.Rank()
	text, err := json.Marshal(&v)
	require.NoError(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	t.Logf("%d verdicts: %d bytes, %d gzipped", n, len(text), packed.Len())
	require.Less(t, packed.Len(), 75*1024)
	var read Verdicts
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, v.Row(n-1), read.Row(n-1))
}

// The golden file is kept for ever: what it holds must be read by every later build.
func TestGoldenVerdictsAreRead(t *testing.T) {
	text, err := os.ReadFile(goldenVerdicts)
	require.NoError(t, err)
	var read Verdicts
	require.NoError(t, json.Unmarshal(text, &read))
	want := smallVerdicts()
	require.Equal(t, want.All(), read.All())
	again, err := json.Marshal(&read)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(again))
}

const goldenVerdicts = "testdata/golden/Verdicts.1.json"

// FuzzVerdicts reads anything as verdicts, as readers of an older or newer build may.
func FuzzVerdicts(f *testing.F) {
	text, err := os.ReadFile(goldenVerdicts)
	require.NoError(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, raw []byte) {
		limits.Hold(t, len(raw), func() {
			var v Verdicts
			_ = json.Unmarshal(raw, &v)
		})
	})
}
