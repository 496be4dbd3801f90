package door

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/bus/disk"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/subjects"
)

// needsRoom are the verbs that store something. What ends or removes something goes on out of the reserve.
var needsRoom = map[string]bool{
	api.VerbApply: true, api.VerbPatch: true, api.VerbAdmit: true, api.VerbDelete: false,
	api.VerbRunGenerate: true, api.VerbRunStart: true, api.VerbRunApprove: true, api.VerbRunRerun: true, api.VerbRunSkip: true,
	api.VerbRunStop: false, api.VerbDeleteNode: false, api.VerbUserAdd: true, api.VerbUserRevoke: false,
	api.VerbRestore:     true,
	api.VerbRolloutUndo: false, api.VerbRolloutPause: false, api.VerbRolloutResume: true, api.VerbRolloutRestart: true,
	api.VerbFreeze: false, api.VerbUnfreeze: false, api.VerbApproveWithdrawal: false,
	api.VerbWeb: false, api.VerbToken: false, api.VerbEnter: false, api.VerbLeave: false,
}

// storesContent are the verbs under which people have bodies of objects stored.
var storesContent = []string{api.VerbApply, api.VerbPatch, api.VerbRolloutRestart}

// overdrawn refuses somebody who had too much stored that nothing refers to any more: others are to find room.
func (d *Door) overdrawn(by api.Caller) *api.Failure {
	bytes, most, until, over := d.store.Content.Overdrawn(by.Name)
	if !over {
		return nil
	}
	return &api.Failure{Code: api.CodeNoRoom, Next: "flotilla status", Message: fmt.Sprintf(
		"nothing was stored: of the objects that %s wrote, %s are former versions that nothing refers to any more, at most %s may be kept; they are removed by %s: apply again then, and change the same objects less often",
		by.Name, api.Size(bytes), api.Size(most), until.Add(untilSwept).UTC().Format("15:04:05Z"))}
}

// shares is into how many parts the room for what people did goes, of which one person takes one in a day at most.
const shares = 4

// busy refuses somebody who has done so much in a day that it would push out what others did: what stops, ends or removes something, where
// it is twice that.
func (d *Door) busy(by api.Caller, more bool) *api.Failure {
	most := d.store.Layout.Sizes[subjects.Acts] / shares
	if !more {
		most *= 2
	}
	bytes, until := d.store.Audit.Acts(by.Name, most)
	if most <= 0 || bytes <= most {
		return nil
	}
	return &api.Failure{Code: api.CodeNoRoom, Next: "flotilla events --by " + by.Name, Message: fmt.Sprintf(
		"nothing was stored: the events of what %s did in a day take %s, at most %s may be, so that they push out those of nobody else; ask again from %s on, or raise --max-bytes of stream %s and have another hub lead",
		by.Name, api.Size(bytes), api.Size(most), until.UTC().Format(time.RFC3339), d.store.Conn.Fleet.Stream(subjects.Acts))}
}

// untilSwept is how long after content may go it is gone.
const untilSwept = 15 * time.Second

// NoRoom is the reason why nothing is stored and what to do; nil when there is room.
func NoRoom(room disk.Room) *api.Failure {
	why := roomless(room)
	if why == "" {
		return nil
	}
	failure := &api.Failure{Code: api.CodeNoRoom, Message: why, Next: "flotilla status"}
	if room.Stopped != "" && !room.Restarts {
		failure.Code = api.CodeUnavailable // as soon as that server was restarted
	}
	return failure
}

// refused is NoRoom for somebody who wanted to store something.
func refused(room disk.Room) *api.Failure {
	failure := NoRoom(room)
	if failure != nil {
		failure.Message = "nothing was stored: " + failure.Message
	}
	return failure
}

// roomless says what is wrong with the room and what to do about it, empty when nothing is.
func roomless(room disk.Room) string {
	switch {
	case room.Stopped != "" && room.Restarts && room.Short():
		return fmt.Sprintf("the NATS server of the hub stores nothing any more (%s), and %s: %s; the hub restarts it by itself once there is", room.Stopped, room, remedy(room, "make room"))
	case room.Stopped != "" && room.Restarts:
		return fmt.Sprintf("the NATS server of the hub stores nothing any more (%s); the hub restarts it as soon as a file can be written in %s", room.Stopped, room.Where)
	case room.Stopped != "":
		return room.Stopped
	case room.Short():
		return fmt.Sprintf("%s: %s; the hub goes on by itself once there is", room, remedy(room, cmp.Or(room.Remedy, "make room, or delete objects")))
	}
	return ""
}

// remedy is what to do about room that is short, given what to do where it is bytes. Objects that are deleted free no
// inodes of which one could be sure.
func remedy(room disk.Room, ofBytes string) string {
	if room.WantsFiles() {
		return "make room by removing files there, or keep the folder on a file system with more inodes"
	}
	return ofBytes
}

// roomProblems is what is wrong with the room, which streams fill up, which members are held back, and who asks too much.
func (d *Door) roomProblems() []api.Problem {
	var problems []api.Problem
	room := disk.Tighter(d.room(), d.memory(0))
	if why := roomless(room); why != "" {
		problems = append(problems, api.Problem{Object: "hub/" + d.options.Replica, Reason: health.ReasonNoRoom, Message: why, Next: look(room)})
	}
	if d.options.Streams != nil {
		problems = append(problems, d.options.Streams()...)
	}
	return append(problems, d.heldBack.problems(d.store.Now())...)
}

// look is the command that shows where room is wanted.
func look(room disk.Room) string {
	switch {
	case room.Look != "":
		return room.Look
	case !room.Own:
		return "nats account info"
	case room.WantsFiles():
		return "df -i " + room.Where
	}
	return "df -h " + room.Where
}

func (d *Door) room() disk.Room {
	if d.options.Room == nil {
		return disk.Room{}
	}
	return d.options.Room()
}

// withRoom refuses a verb while there is no room for what it stores, and says so of one that failed for that.
func (d *Door) withRoom(verb string, handler bus.Handler) bus.Handler {
	if _, stores := needsRoom[verb]; !stores {
		return handler
	}
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		roomy := d.roomy(by, verb, body)
		if failure := roomy(); failure != nil {
			return nil, failure
		}
		if failure := d.busy(by, d.adds(d.room(), by, verb, body)); failure != nil && !dry(verb, body) {
			return nil, failure
		}
		if failure := d.overdrawn(by); failure != nil && slices.Contains(storesContent, verb) && !dry(verb, body) {
			return nil, failure
		}
		ctx = streams.As(ctx, by.Name)
		if needsRoom[verb] { // others are held up by no disk that does not answer
			ctx = context.WithValue(ctx, roomKey{}, roomy)
		}
		answer, err := handler(ctx, by, body)
		if err == nil {
			return answer, nil
		}
		if failure := unstored(d.room(), err); failure != nil {
			return nil, failure
		}
		return nil, err
	}
}

// roomKey is that of a context whose value says once more whether there is room for what is asked.
type roomKey struct{}

// roomStill refuses what waited for its turn, and found room before.
func roomStill(ctx context.Context) *api.Failure {
	if roomy, asked := ctx.Value(roomKey{}).(func() *api.Failure); asked {
		return roomy()
	}
	return nil
}

// roomy returns what refuses a verb that needs room while there is none for what it would have stored.
func (d *Door) roomy(by api.Caller, verb string, body []byte) func() *api.Failure {
	weight := d.weight(verb, body)
	return func() *api.Failure {
		room := d.room()
		if needsRoom[verb] {
			room = disk.Tighter(room, d.memory(weight()))
		}
		refuse := room.Short() && d.adds(room, by, verb, body) || room.Stopped != "" && room.Restarts
		if !refuse || dry(verb, body) {
			return nil
		}
		return refused(room)
	}
}

// unstored says of an error whether the servers had no room; nil when it says nothing of it.
func unstored(room disk.Room, err error) *api.Failure {
	if refused := bus.Full(err); refused != "" {
		return &api.Failure{
			Code: api.CodeNoRoom, Next: "nats account info",
			Message: "the NATS servers have no room for it: " + refused + ": raise the limit that is reached, or delete objects; " + err.Error(),
		}
	}
	failure := refused(room)
	if failure != nil && (bus.IsUnanswered(err) || bus.IsIncomplete(err)) {
		failure.Message += " (" + err.Error() + ")"
		return failure
	}
	return nil
}
