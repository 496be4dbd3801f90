package enroller

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/enrolments"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/subjects"
)

// hear judges a statement and answers it.
func (e *Enroller) hear(ctx context.Context, asked *enrolments.Enrolment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := int64(0)
	if last := e.heard[asked.Member]; last.key == asked.Ask.Key {
		before = last.serial
	}
	e.answer(ctx, asked, before)
}

// answer judges and answers; the lock is held.
func (e *Enroller) answer(ctx context.Context, asked *enrolments.Enrolment, heard int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	answer, err := e.decide(ctx, asked, heard)
	if err != nil {
		e.options.Log.Warn().Err(err).Str("member", asked.Member).Msg("answering an agent")
		answer = &api.EnrolmentAnswer{Refused: &api.EnrolmentRefusal{Reason: "Unavailable", Message: err.Error(), Later: true}}
	}
	if answer != nil {
		asked.Answer(*answer)
	}
}

// decide is what to answer, nil when that comes later.
func (e *Enroller) decide(ctx context.Context, asked *enrolments.Enrolment, heard int64) (*api.EnrolmentAnswer, error) {
	for try := 1; ; try++ {
		v, revision, err := e.judge(asked, heard)
		if err != nil {
			return nil, err
		}
		if v.Refused != nil {
			e.tell(asked, v.Events)
			return &api.EnrolmentAnswer{Refused: v.Refused}, nil
		}
		if v.Write {
			_, err = e.store.WriteTold(ctx, e.events(asked.Member, asked.Address, v.Events), e.records.Put(asked.Member, &v.Record, revision))
		}
		if errors.Is(err, bus.ErrConflict) && try < tries {
			continue
		}
		if err != nil {
			return nil, err
		}
		e.heard[asked.Member] = statement{asked.Ask.Key, asked.Ask.Serial}
		if v.Wait {
			e.wait(asked.Member, asked)
			return nil, nil
		}
		return e.credentials(asked, &v)
	}
}

// wait has a statement, nil for none, wait until its member is admitted, in the place of the one before; the lock is held.
func (e *Enroller) wait(member string, asked *enrolments.Enrolment) {
	if before := e.waiting[member]; before != nil {
		before.Dismiss()
	}
	if delete(e.waiting, member); asked != nil {
		e.waiting[member] = asked
	}
}

func (e *Enroller) judge(asked *enrolments.Enrolment, heard int64) (enrolment.Verdict, uint64, error) {
	if !e.store.State.Synced() {
		return enrolment.Verdict{}, 0, bus.ErrNotSynced
	}
	_, _, admitted, err := e.specs.Find(asked.Member)
	if err != nil {
		return enrolment.Verdict{}, 0, err
	}
	record, revision, found, err := e.records.Find(asked.Member)
	if err != nil {
		return enrolment.Verdict{}, 0, err
	}
	in := enrolment.Input{
		Member: asked.Member, Admitted: admitted, Ask: &asked.Ask, Heard: heard, Now: e.store.Now(),
	}
	if e.options.Issuer != nil {
		in.Life = e.options.Life
	}
	if found {
		in.Record = &record
	}
	return enrolment.Judge(in), revision, nil
}

// credentials are what a verdict gives, signed.
func (e *Enroller) credentials(asked *enrolments.Enrolment, v *enrolment.Verdict) (*api.EnrolmentAnswer, error) {
	answer := &api.EnrolmentAnswer{Role: v.Role}
	if e.options.Issuer == nil {
		return answer, nil
	}
	answer.Holds = metav1.Duration{Duration: v.Ends.Sub(e.store.Now())}
	var err error
	if answer.Credentials, _, err = e.options.Issuer.Sign(v.Role, asked.Member, asked.Ask.Key, answer.Holds.Duration); err != nil {
		return nil, err
	}
	answer.Returning, _, err = e.options.Issuer.Sign(subjects.RoleEnrolling, asked.Member, asked.Ask.Key, 0)
	return answer, err
}

// tell tells of a refusal, unless that was done a moment ago.
func (e *Enroller) tell(asked *enrolments.Enrolment, events []api.Audit) {
	if len(events) == 0 {
		return
	}
	now, about := e.store.Now(), asked.Member+" "+events[0].Reason
	if now.Sub(e.told[about]) < tellEvery {
		return
	}
	e.told[about] = now
	for _, event := range e.events(asked.Member, asked.Address, events) {
		e.store.Audit.Record(event)
	}
}

// events completes what is told of a member, and where it was asked for from.
func (e *Enroller) events(member, from string, events []api.Audit) []api.Audit {
	for i := range events {
		events[i].Header, events[i].At = api.NewHeader(api.KindAudit), metav1.NewTime(e.store.Now())
		events[i].Object, events[i].Member = subjects.KindMember+"/"+member, member
		events[i].By, events[i].From = "enroller", from
	}
	return events
}
