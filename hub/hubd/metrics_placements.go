package hubd

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/status"
	"flotilla/subjects"
)

// MostSeries is how many placements, and how many members, have series of their own: those in most
// trouble, then by name. The rest is added up in one series each, named OtherSeries, which is no name.
const (
	MostSeries  = 500
	OtherSeries = "_other"
)

var (
	placementMembersMetric = prometheus.NewDesc("flotilla_placement_members",
		"Members of a placement: picked, current, available, failed, drifted, corrected, unconfirmed.", []string{"placement", "state"}, nil)
	placementStalledMetric = prometheus.NewDesc("flotilla_placement_stalled",
		"1 while no member of a placement's rollout has advanced for longer than the progress deadline.", []string{"placement"}, nil)
	memberTroubleMetric = prometheus.NewDesc("flotilla_member_placements",
		"Placements in trouble on a member: failed, drifted, corrected, unconfirmed, stalled.", []string{"member", "trouble"}, nil)
)

// Troubles of a member, in the order of their series.
const (
	troubleFailed = iota
	troubleDrifted
	troubleCorrected
	troubleUnconfirmed
	troubleStalled
	troubles
)

var troubleNames = [troubles]string{"failed", "drifted", "corrected", "unconfirmed", "stalled"}

// alarmTroubles is the trouble of a member that each alarm is about.
var alarmTroubles = map[string]int{
	status.AlarmApplyFailed: troubleFailed, status.AlarmDrifted: troubleDrifted, status.AlarmCorrected: troubleCorrected,
	status.AlarmUnconfirmed: troubleUnconfirmed,
}

// placementStates are the states of a placement's members, in the order of their series.
var placementStates = []string{"picked", "current", "available", "failed", "drifted", "corrected", "unconfirmed"}

// series are the numbers of one placement or member.
type series struct {
	name    string
	trouble float64
	values  []float64
}

func (s *series) add(other *series) {
	for i := range s.values {
		s.values[i] += other.values[i]
	}
}

// bounded keeps the worst of all and adds up the others.
func bounded(all []series) []series {
	slices.SortFunc(all, func(a, b series) int { return cmp.Or(cmp.Compare(b.trouble, a.trouble), cmp.Compare(a.name, b.name)) })
	if len(all) <= MostSeries {
		return all
	}
	rest := series{name: OtherSeries, values: make([]float64, len(all[0].values))}
	for i := range all[MostSeries:] {
		rest.add(&all[MostSeries+i])
	}
	return append(slices.Clip(all[:MostSeries]), rest)
}

// collectPlacements sends how placements do, and on which members they are in trouble.
func (c fleetCollector) collectPlacements(s *store.Store, gauge func(*prometheus.Desc, float64, ...string)) {
	var placements []series
	members := map[string]*[troubles]float64{}
	for _, entry := range store.Reads[api.PlacementStatus](s.State.As(subjects.Hubd), subjects.Statuses).All() {
		placements = append(placements, placementSeries(entry.Name, &entry.Value))
		countTroubles(members, &entry.Value)
	}
	for _, p := range bounded(placements) {
		last := len(placementStates)
		for i, state := range placementStates {
			gauge(placementMembersMetric, p.values[i], p.name, state)
		}
		gauge(placementStalledMetric, p.values[last], p.name)
	}
	var byMember []series
	for _, name := range slices.Sorted(maps.Keys(members)) {
		counts := members[name]
		m := series{name: name, values: counts[:]}
		for _, n := range counts {
			m.trouble += n
		}
		byMember = append(byMember, m)
	}
	for _, m := range bounded(byMember) {
		for i, trouble := range troubleNames {
			gauge(memberTroubleMetric, m.values[i], m.name, trouble)
		}
	}
}

func placementSeries(name string, st *api.PlacementStatus) series {
	n := st.Counts
	p := series{name: name, trouble: float64(n.Failed + n.Drifted + n.Corrected + n.Unconfirmed)}
	for _, count := range []int{n.Picked, n.Current, n.Available, n.Failed, n.Drifted, n.Corrected, n.Unconfirmed} {
		p.values = append(p.values, float64(count))
	}
	stalled := 0.0
	if status.StandsStill(st) {
		stalled = 1
	}
	p.trouble += stalled
	p.values = append(p.values, stalled)
	return p
}

// countTroubles adds what a placement tells of members in trouble.
func countTroubles(members map[string]*[troubles]float64, st *api.PlacementStatus) {
	count := func(member string, trouble int) {
		if members[member] == nil {
			members[member] = &[troubles]float64{}
		}
		members[member][trouble]++
	}
	for i := range st.Alarms {
		if trouble, known := alarmTroubles[st.Alarms[i].Reason]; known {
			for _, member := range st.Alarms[i].Members {
				count(member, trouble)
			}
		}
	}
	if status.StandsStill(st) {
		for i := range st.Rollout.HeldUpBy {
			count(st.Rollout.HeldUpBy[i].ClusterName, troubleStalled)
		}
	}
}
