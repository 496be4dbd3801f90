package rollup

import (
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// Outcome is what came of an object in the fleet.
type Outcome int

// The outcomes, as kstatus has them.
const (
	InProgress Outcome = iota
	Current
	Failed
)

// defaultDeadline is how long an object may be selected by nothing that names no deadline of its own.
const defaultDeadline = 600 * time.Second

// Object is one that the hub stores.
type Object struct {
	Spec *api.Spec
	// Body is what was applied.
	Body map[string]any
	// Deadline is what Body says of it, for who has no Body; 0: look there.
	Deadline time.Duration
}

// Judgement is how an object does in the fleet.
type Judgement struct {
	Outcome Outcome
	// Members are those that it is to be on, each counted once for each placement. Updated have it as it was applied last;
	// of those Available do what they are there for, and Completed are done for good.
	Members, Updated, Available, Completed, Failed int
	Reason, Message                                string
	// Recheck is when time alone changes the judgement: once nothing has selected the object for too long. It is zero when only
	// news can.
	Recheck time.Time

	placed  bool
	guarded bool
	since   time.Time
	trouble [3]trouble // by rank
}

// The ranks of troubles: the first that there is gives the reason.
const (
	isFailed = iota
	isGuarded
	isLacking
)

// shownNames is how many members a message names.
const shownNames = 3

// trouble is who is in trouble of one rank.
type trouble struct {
	count  int
	reason string
	first  []string
}

// Judge says how an object does of which the placements that select it stand as they do.
func Judge(o *Object, on []*Standing, now time.Time) Judgement {
	j := Judgement{placed: len(on) > 0, since: latest(o.Spec.Created.Time, o.Spec.Changed.Time)}
	if !j.placed {
		j.unplaced(o, now)
		return j
	}
	id := identityOf(&o.Spec.Object)
	for _, s := range on {
		j.join(s, id, o.Spec.ManifestDigest())
	}
	j.settle()
	return j
}

// DeadlineOf is how long an object may be selected by nothing, by what was applied.
func DeadlineOf(body map[string]any) time.Duration {
	if seconds, given := number(body, "spec", "progressDeadlineSeconds"); given && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return defaultDeadline
}

// unplaced is what becomes of an object that nothing selects: it waits until its deadline.
func (j *Judgement) unplaced(o *Object, now time.Time) {
	deadline := o.Deadline
	if deadline == 0 {
		deadline = DeadlineOf(o.Body)
	}
	j.Reason, j.Message = ReasonNotPlaced, "no placement selects it: apply one that does"
	switch due := j.since.Add(deadline); {
	case o.Spec.Excluded != "":
		j.Message = "no placement selects it: " + o.Spec.Excluded
	case now.Before(due):
		j.Recheck = due
	default:
		j.Outcome, j.since = Failed, due
	}
}

// join adds what the members of one placement do.
func (j *Judgement) join(s *Standing, id identity, digest string) {
	j.Members += s.missing
	if s.whole != nil {
		j.add("", s.whole)
	}
	wanted := s.held[0][id]
	fresh := make([]bool, len(s.held))
	for i := range s.held {
		fresh[i] = s.held[i][id] == wanted
	}
	held := s.pinned && digest != wanted
	for i := range s.members {
		m := &s.members[i]
		j.Members++
		switch {
		case held:
			j.add(m.name, &sight{reason: reasonPinned, message: placementIsPinned})
		case m.snapshot < 0 || !fresh[m.snapshot]:
			j.add(m.name, &m.late)
		default:
			j.Updated++
			j.add(m.name, m.said.of(id))
		}
	}
}

// add counts one member, or what is said of a placement as a whole.
func (j *Judgement) add(name string, s *sight) {
	j.since = latest(j.since, s.since)
	rank := isLacking
	switch s.stand {
	case completed:
		j.Completed++
		j.Available++
		return
	case available:
		j.Available++
		return
	case failed:
		j.Failed++
		rank = isFailed
	case lacking:
		if s.guarded {
			rank = isGuarded
		}
	}
	t := &j.trouble[rank]
	t.count++
	if t.count == 1 {
		t.reason = s.reason
	}
	if t.count <= shownNames {
		t.first = append(t.first, told(name, s))
	}
}

// told is what a message says of one member.
func told(name string, s *sight) string {
	text := strings.Join(strings.Fields(s.message), " ")
	switch {
	case text == "":
		text = s.reason
	case s.stand == failed:
		text = s.reason + ": " + text
	}
	if name == "" {
		return text
	}
	return name + ": " + text
}

// settle says what comes of what was counted.
func (j *Judgement) settle() {
	for rank := range j.trouble {
		t := &j.trouble[rank]
		if t.count == 0 {
			continue
		}
		if rank == isFailed {
			j.Outcome = Failed
		}
		j.Reason, j.guarded = t.reason, rank == isGuarded
		j.Message = fmt.Sprintf("%s; %s", j.counted(), t)
		return
	}
	j.Outcome, j.Reason, j.Message = Current, reasonAvailable, j.counted()
}

// String names the first.
func (t *trouble) String() string {
	text := strings.Join(t.first, "; ")
	if more := t.count - len(t.first); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func (j *Judgement) counted() string {
	return fmt.Sprintf("available on %d of %s", j.Available, phrase.Count(j.Members, "member"))
}

// Placed says that a placement selects the object.
func (j *Judgement) Placed() bool { return j.placed }

// Mark is a text that two judgements have alike of which Counts and, of one Object, Status are alike.
func (j *Judgement) Mark() string { return fmt.Sprintf("%#v", *j) }

// Counts is how the object does on how many members, in few words.
func (j *Judgement) Counts() string {
	if !j.placed {
		return "not placed"
	}
	text := fmt.Sprintf("%d of %d available", j.Available, j.Members)
	if j.Failed > 0 {
		text += fmt.Sprintf(", %d failed", j.Failed)
	}
	return text
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
