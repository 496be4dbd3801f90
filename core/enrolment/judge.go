package enrolment

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Reasons of refusals.
const (
	ReasonUnknownToken = "UnknownToken"
	ReasonTokenEnded   = "TokenEnded"
	ReasonTokenUsed    = "TokenUsed"
	ReasonNotEnrolled  = "NotEnrolled"
	ReasonOtherKey     = "OtherKey"
	ReasonRefusedKey   = "RefusedKey"
	ReasonReplayed     = "Replayed"
)

// maxFormer is how many refused keys a record remembers.
const maxFormer = 8

// Input is what is known when the agent of a member asks. Nothing in it is changed.
type Input struct {
	Member string
	// Record is nil while there is none.
	Record *api.Identity
	// Admitted says that the member is part of the fleet.
	Admitted bool
	// Ask is the statement; its signatures hold.
	Ask *api.EnrolmentRequest
	// Heard is the serial of the newest statement with the key.
	Heard int64
	// Life is for how long credentials are given; 0 where others give them.
	Life time.Duration
	Now  time.Time
}

// Verdict is what to do about a statement: refuse it, let it wait, or give credentials of Role until Ends.
type Verdict struct {
	Refused *api.EnrolmentRefusal
	// Wait says that there is nothing new for the agent until its member is admitted.
	Wait bool
	Role string
	Ends time.Time
	// Record is to be written first when Write; a former key of it is refused from then on.
	Record api.Identity
	Write  bool
	// Events are for the audit stream, without time and object.
	Events []api.Audit
}

// Judge answers a statement.
func Judge(in Input) Verdict {
	var record api.Identity
	if in.Record != nil {
		record = *in.Record
	}
	switch {
	case in.Ask.Serial <= max(in.Heard, serialOf(&record, in.Ask.Key)):
		return in.replayed(&record)
	case slices.Contains(record.Former, in.Ask.Key):
		return refuse(ReasonRefusedKey, "this key of member %s is refused since another took its place or it was revoked; for a new one: %s", in.Member, api.EnrolCommand(in.Member))
	case in.Ask.Token != "":
		return in.trade(record)
	case record.Key == "":
		return refuse(ReasonNotEnrolled, "no agent of member %s is enrolled: %s", in.Member, api.EnrolCommand(in.Member))
	case record.Key != in.Ask.Key || record.SealingKey != in.Ask.SealingKey:
		return in.otherKey(&record)
	}
	return in.renew(record)
}

// serialOf is the newest serial that the record has of a key.
func serialOf(record *api.Identity, key string) int64 {
	if record.Key != key {
		return 0
	}
	return record.Serial
}

func (in *Input) replayed(record *api.Identity) Verdict {
	v := refuse(ReasonReplayed, "a statement of this key that is as new was heard before; its clock may have been put back")
	v.Events, v.Refused.Later, v.Refused.Serial = nil, true, max(in.Heard, serialOf(record, in.Ask.Key))
	return v
}

func (in *Input) otherKey(record *api.Identity) Verdict {
	return refuse(ReasonOtherKey, "member %s has an agent with another key, enrolled at %s; to let this one take its place: %s",
		in.Member, text(record.Enrolled), api.EnrolCommand(in.Member))
}

// trade registers the key that a token is traded for.
func (in *Input) trade(record api.Identity) Verdict {
	at := slices.IndexFunc(record.Tokens, func(t api.IssuedToken) bool { return t.Key == in.Ask.Token })
	if at < 0 {
		return refuse(ReasonUnknownToken, "no such token was made for member %s, or it is forgotten: %s", in.Member, api.EnrolCommand(in.Member))
	}
	token := record.Tokens[at]
	switch {
	case token.Used != nil && token.UsedBy != in.Ask.Key:
		return in.used(&token)
	case token.Used != nil && (record.Key != in.Ask.Key || record.SealingKey != in.Ask.SealingKey):
		return in.otherKey(&record)
	case token.Used != nil:
		return in.renew(record)
	case !in.Now.Before(token.Ends.Time):
		return refuse(ReasonTokenEnded, "the token ended at %s: %s", text(token.Ends), api.EnrolCommand(in.Member))
	}
	return in.register(record, at)
}

func (in *Input) used(token *api.IssuedToken) Verdict {
	v := refuse(ReasonTokenUsed, "the token was used at %s by key %s, and a token is used once: %s", text(*token.Used), token.UsedBy, api.EnrolCommand(in.Member))
	v.Events = tell("Warning", "TokenReused", fmt.Sprintf("key %s came with the token that key %s used at %s: somebody else has it; where that was not meant, enrol anew",
		in.Ask.Key, token.UsedBy, text(*token.Used)))
	return v
}

func (in *Input) register(record api.Identity, at int) Verdict {
	now := metav1.NewTime(in.Now.UTC().Truncate(time.Second))
	did := "its agent registered key " + in.Ask.Key
	if record.Key != "" && record.Key != in.Ask.Key {
		did += fmt.Sprintf(", which takes the place of %s of %s", record.Key, text(record.Enrolled))
		record.Former = former(record.Former, record.Key)
	}
	record.Tokens = slices.Clone(record.Tokens)
	record.Tokens[at].Used, record.Tokens[at].UsedBy = &now, in.Ask.Key
	record.Key, record.SealingKey, record.Enrolled = in.Ask.Key, in.Ask.SealingKey, now
	record.Revoked, record.RevokedBy, record.Left = nil, "", nil
	return in.give(record, "Enrolled", did)
}

// former are refused keys with one more; the oldest are forgotten.
func former(keys []string, key string) []string {
	keys = append(slices.Clone(keys), key)
	return keys[max(0, len(keys)-maxFormer):]
}

// renew answers a registered key: with the same again while that is fresh, which may have been lost on its way.
func (in *Input) renew(record api.Identity) Verdict {
	switch fresh := record.Ends.IsZero() || in.Now.Before(Half(&record)); {
	case in.role() != record.Role:
		return in.give(record, "CredentialsRenewed", "credentials of role "+in.role())
	case fresh && in.Ask.Holds == api.AgentJoining && record.Role == api.AgentJoining:
		return Verdict{Wait: true}
	case fresh:
		return Verdict{Role: record.Role, Ends: record.Ends.Time}
	}
	return in.give(record, "CredentialsRenewed", "credentials of role "+in.role())
}

// Half is when half of the time has passed for which the credentials of a record hold: from then on they are renewed.
func Half(record *api.Identity) time.Time {
	return record.Issued.Add(record.Ends.Sub(record.Issued.Time) / 2)
}

func (in *Input) role() string {
	if in.Admitted {
		return api.AgentAdmitted
	}
	return api.AgentJoining
}

// give has credentials given that begin now.
func (in *Input) give(record api.Identity, reason, did string) Verdict {
	now := in.Now.UTC().Truncate(time.Second)
	if in.Admitted {
		record.Admitted, record.Left = true, nil
	}
	record.Role, record.Issued, record.Ends, record.Serial, record.Overdue = in.role(), metav1.NewTime(now), metav1.Time{}, in.Ask.Serial, false
	if in.Life > 0 {
		record.Ends = metav1.NewTime(now.Add(in.Life))
		did += ", until " + text(record.Ends)
	}
	return Verdict{Role: record.Role, Ends: record.Ends.Time, Record: record, Write: true, Events: tell("Normal", reason, did)}
}

func refuse(reason, format string, args ...any) Verdict {
	message := fmt.Sprintf(format, args...)
	return Verdict{
		Refused: &api.EnrolmentRefusal{Reason: reason, Message: message},
		Events:  tell("Warning", "EnrolmentRefused", reason+": "+message),
	}
}

// tell makes one event.
func tell(kind, reason, message string) []api.Audit {
	event := api.Audit{Type: kind, Reason: reason, Message: message}
	return []api.Audit{event}
}
