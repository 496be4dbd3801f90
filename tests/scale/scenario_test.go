package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/subjects"
)

func TestScenariosAreThere(t *testing.T) {
	all, err := scenarios()
	require.NoError(t, err)
	for _, name := range []string{"kubefleet-q1-2026", "fan-out", "idle", "storm", "churn"} {
		require.Contains(t, all, name)
	}
	first := all["kubefleet-q1-2026"].Steps[0]
	require.Equal(t, &Place{Placements: 1000, To: toTenth, AtOnce: 10}, first.Place)
	chosen, err := choose("idle,churn")
	require.NoError(t, err)
	require.Equal(t, []Scenario{all["idle"], all["churn"]}, chosen)
	_, err = choose("idle,fleet")
	require.EqualError(t, err, `-only: found "fleet", expected some of churn, fan-out, idle, kubefleet-q1-2026, storm`)
}

func TestAllFaultsOfAScenarioAreNamed(t *testing.T) {
	_, err := parseScenario([]byte(`
name: wrong
folders: [tape]
steps:
- place: {placements: 1, to: nobody}
  idle: 5s
- {name: two, change: {}}
- {name: three, restart: {}, churn: 5s}
- {name: four}
`))
	require.EqualError(t, err, `says: found nothing, expected a sentence
members: found 0, expected 1 or more
folders[0]: found tape, expected disk or memory
steps[0].name: found nothing, expected a name
steps[0]: found 2, expected one of place, change, restart and idle
steps[0].place.to: found nobody, expected all, tenth or ranked
steps[0].place.atOnce: found 0, expected 1 or more
steps[1].change.placements: found 0, expected 1 or more
steps[1].change.atOnce: found 0, expected 1 or more
steps[2].churn: found 5s, expected it only with idle or change
steps[3]: found 0, expected one of place, change, restart and idle`)
	_, err = parseScenario([]byte("name: wrong\nmember: 5\n"))
	require.ErrorContains(t, err, `unknown field "member"`)
}

func TestAPartOfAScenario(t *testing.T) {
	s := Scenario{Members: 1000, Steps: []Step{
		{Place: &Place{Placements: 1000, To: toTenth, AtOnce: 10}},
		{Change: &Change{Placements: 100, AtOnce: 100}},
		{Idle: configs.Duration(time.Minute)},
		{Restart: &Restart{Change: 40}},
	}}
	part := s.scaled(0.05, 0)
	require.Equal(t, 50, part.Members)
	require.Equal(t, 50, part.Steps[0].Place.Placements)
	require.Equal(t, 5, part.Steps[1].Change.Placements)
	require.Equal(t, &Restart{Change: 2}, part.Steps[3].Restart)
	require.Equal(t, 1000, s.Steps[0].Place.Placements, "the scenario stays as it is")
	require.Equal(t, s, s.scaled(1, 0))
	least := s.scaled(0.0001, 0)
	require.Equal(t, 10, least.Members)
	require.Equal(t, 1, least.Steps[1].Change.Placements)
	few := s.scaled(0.5, 20)
	require.Equal(t, 20, few.Members)
	require.Equal(t, 500, few.Steps[0].Place.Placements, "the most is of members alone")
}

func TestAllFlagsThatAreWrongAreNamed(t *testing.T) {
	require.NoError(t, options{scale: 1, runs: 1}.check())
	require.NoError(t, options{scale: 0.1, runs: 3, members: 10}.check())
	require.EqualError(t, options{scale: math.NaN(), members: 9}.check(), `-scale: found NaN, expected more than 0 and at most 1
-members: found 9, expected 10 or more, or 0
-runs: found 0, expected 1 or more`)
}

// Raw agents are spread as placements were, each in one part.
func TestPartsOfMembers(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	require.Equal(t, [][]string{names}, partsOf(names, 5))
	require.Equal(t, [][]string{{"a", "c", "e"}, {"b", "d"}}, partsOf(names, 2))
	require.Len(t, partsOf(names, 0), 5)
}

func TestPlacementsReachWhomTheyAreFor(t *testing.T) {
	f := &fleet{members: 25}
	reached := 0
	for number := range 10 {
		reached += f.reach(toTenth, number)
	}
	require.Equal(t, 25, reached, "tenths are the whole")
	require.Equal(t, 3, f.reach(toTenth, 4))
	require.Equal(t, 2, f.reach(toTenth, 15))
	require.Equal(t, 25, f.reach(toAll, 3))
	require.Equal(t, 1, f.reach(toRanked, 3))
	f.members = 1000
	require.Equal(t, 10, f.reach(toRanked, 3))
}

func TestBarsNameWhatIsAbove(t *testing.T) {
	m := &Measured{
		Scenario: "short", Folders: onDisk, Step: "many", Deliveries: 10,
		Traffic: Traffic{
			Sent:   map[string]Count{subjects.State: {50, 1000}, subjects.Heartbeat: {1000, 100000}},
			Read:   map[string]Count{subjects.Content: {10, 500}},
			Stored: map[string]float64{subjects.Commands: 10, subjects.Result: 20},
		},
		Runs: map[string]float64{schedulerRuns: 3},
	}
	exact := Bars{Messages: 5, Bytes: 100, Read: 50, Contents: 1, SchedulerRuns: 0.3, Commands: 1, Results: 2}
	require.NoError(t, exact.over(m))
	require.EqualError(t, (&Bars{}).over(m), `short, many: found 5.000 messages a delivery, expected at most 0
short, many: found 100.000 bytes stored a delivery, expected at most 0
short, many: found 50.000 bytes read a delivery, expected at most 0
short, many: found 1.000 answers with content a delivery, expected at most 0
short, many: found 0.300 runs of the scheduler a delivery, expected at most 0
short, many: found 1.000 commands a delivery, expected at most 0
short, many: found 2.000 results a delivery, expected at most 0`)
}
