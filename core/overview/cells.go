package overview

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// MostTroubled is of how many members at most Cells says what keeps them from being available, a placement.
const MostTroubled = 200

// Cells is where members stand with placements.
type Cells struct {
	Mark string      `json:"mark"`
	At   metav1.Time `json:"at"`
	// Members are those that any of the placements names, sorted.
	Members    []string     `json:"members"`
	Placements []CellsOfOne `json:"placements"`
}

// CellsOfOne is where members stand with one placement.
type CellsOfOne struct {
	Key string `json:"key"`
	// Missing says that there is no placement of that key, Fault why one cannot be read.
	Missing bool   `json:"missing,omitempty"`
	Fault   string `json:"fault,omitempty"`
	// States has a letter for each of the Members, see EntryOf; trailing dots are left out.
	States string `json:"states"`
	// Troubled are the first members, by name, that are not available and not withdrawing, then those that are missing; Left
	// is how many more there are.
	Troubled []TroubledCell `json:"troubled,omitempty"`
	Left     int            `json:"left,omitempty"`
	// Verdicts counts the members that were not picked by filter, as why names them; nil while nobody has decided. Decided is
	// the generation of the placement that they are about.
	Verdicts map[string]int `json:"verdicts,omitempty"`
	Decided  int64          `json:"decided,omitempty"`
}

// TroubledCell is one member that is not available; Member is empty for one that is wanted and was not found.
type TroubledCell struct {
	Member  string      `json:"member,omitempty"`
	State   string      `json:"state"`
	Since   metav1.Time `json:"since,omitzero"`
	Message string      `json:"message,omitempty"`
}

// noEntry is the letter of a member that has nothing to do with a placement.
const noEntry = '.'

// states are those that entries stand in, with the letters that stand for them.
var states = [...]struct {
	state  string
	letter byte
}{
	{api.EntryAvailable, 'A'},
	{api.EntrySame, 'S'},
	{api.EntryPending, 'P'},
	{api.EntryWaiting, 'W'},
	{api.EntryApplying, 'I'},
	{api.EntryNotAvailable, 'N'},
	{api.EntryDrifted, 'D'},
	{api.EntryDiffers, 'd'},
	{api.EntryFailed, 'F'},
	{api.EntryUnknown, 'U'},
	{api.EntryKept, 'K'},
	{api.EntryWithdrawing, 'L'},
}

// letters is the letter of each state, places the place of each letter in states, counted from 1.
var letters, places = func() (of map[string]byte, at [256]uint8) {
	of = map[string]byte{}
	for i, s := range states {
		of[s.state], at[s.letter] = s.letter, uint8(i+1)
	}
	return of, at
}()

// Standing is where one member stands with a placement.
type Standing struct{ Member, State string }

// Fill sets Members and the States of the placements from what is known of each, in the order of the placements.
func (c *Cells) Fill(known [][]Standing) error {
	c.Members = []string{}
	for _, one := range known {
		for i := range one {
			c.Members = append(c.Members, one[i].Member)
		}
	}
	slices.Sort(c.Members)
	c.Members = slices.Compact(c.Members)
	columns := make(map[string]int, len(c.Members))
	for i, member := range c.Members {
		columns[member] = i
	}
	for k, one := range known {
		row := []byte(strings.Repeat(string(noEntry), len(c.Members)))
		for i := range one {
			letter, found := letters[one[i].State]
			if !found {
				return fmt.Errorf("state %q of %s on %s has no letter", one[i].State, c.Placements[k].Key, one[i].Member)
			}
			row[columns[one[i].Member]] = letter
		}
		c.Placements[k].States = strings.TrimRight(string(row), string(noEntry))
	}
	return nil
}

// EntryOf is the state, one of the Entry constants, of the member at an index of Cells.Members; empty for one that has
// nothing to do with the placement.
func (c *CellsOfOne) EntryOf(member int) string {
	if member >= len(c.States) || places[c.States[member]] == 0 {
		return ""
	}
	return states[places[c.States[member]]-1].state
}

// picked says that a placement goes to a member that stands there so.
func picked(state string) bool {
	return state != api.EntryKept && state != api.EntryWithdrawing && state != api.EntryMissing
}
