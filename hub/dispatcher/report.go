package dispatcher

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/subjects"
)

// readable says whether the agent of an address can read a command, and tells where it cannot.
func (d *Dispatcher) readable(to address, wanted *command, level int) bool {
	switch {
	case level > 0 && level < d.options.Level:
		d.reportLevel(to.member, level)
	case to.kind == subjects.CommandPlacement && wanted.to == "":
		d.reportKeyless(to.member)
	default:
		return true
	}
	return false
}

// reportLevel tells once that a member's agent cannot read what it would be sent.
func (d *Dispatcher) reportLevel(member string, level int) {
	if !d.sent.firstReport(member, level) {
		return
	}
	d.warn(member, "LevelTooLow", fmt.Sprintf("its agent reads level %d, its commands are of level %d: update the agent", level, d.options.Level))
	d.options.Log.Warn().Str("member", member).Int("level", level).Msg("agent is too old for its commands")
}

// reportKeyless tells once, until it has a key, that there is nobody whom a member's index could be sealed to.
func (d *Dispatcher) reportKeyless(member string) {
	if !d.sent.firstKeyless(member) {
		return
	}
	d.warn(member, api.ReasonNoKey, api.KeylessMessage+": "+api.EnrolCommand(member))
	d.options.Log.Warn().Str("member", member).Str("next", api.EnrolCommand(member)).Msg(api.KeylessMessage)
}

func (d *Dispatcher) warn(member, reason, message string) {
	d.store.Audit.Record(api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(d.store.Now()), Object: subjects.KindMember + "/" + member, Member: member,
		Type: "Warning", Reason: reason, By: "dispatcher", Message: message,
	})
}
