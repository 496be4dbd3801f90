package deed

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// typedAbove is above how many members somebody has to type how many they are.
const typedAbove = 25

// Typed says that the number of members has to be typed.
func (d *Deed) Typed() bool { return d.Members > typedAbove }

// Agreed says why what somebody agreed to is not what would be done now, as who they are now.
func (d *Deed) Agreed(as string) error {
	then := strings.Split(strings.ReplaceAll(d.Said("seen"), "\r\n", "\n"), "\n")
	d.Was, d.Is = without(then, d.Seen), without(d.Seen, then)
	typed, _ := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(d.Said("typed")), ",", ""))
	shown, _ := strconv.Atoi(d.Said("shown"))
	refuse := func(code, format string, of ...any) error {
		return &api.Failure{Code: code, Message: "nothing was done: " + fmt.Sprintf(format, of...)}
	}
	switch {
	case len(d.Was)+len(d.Is) > 0:
		return refuse(api.CodeConflict, "it changed since you looked. Look again, and agree to what is shown now")
	case d.Said("as") != as:
		return refuse(api.CodeConflict, "it was agreed to as %s, and you are %s now", phrase.Quoted(d.Said("as")), as)
	case d.Typed() && (d.Said("typed") == "" || typed != shown || typed < d.Members): // it may have become fewer since
		return refuse(api.CodeLimit, "it concerns %s members, and that number has to be typed", phrase.Digits(d.Members))
	case d.Reason == MustReason && strings.TrimSpace(d.Said("reason")) == "":
		return refuse(api.CodeLimit, "it needs a reason, which is told to everybody who waits")
	}
	return nil
}

func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}

// Outcome is what came of a deed.
type Outcome struct {
	Said  string
	Notes []string
	// Next is a command that goes on from there, Left what is left to be done where it could not be done whole.
	Next, Left string
}
