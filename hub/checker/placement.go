package checker

import (
	"context"
	"time"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/check"
	"flotilla/core/rollout"
)

// follow decides on the checks of a placement, writes what that comes to, and asks what is due.
func (c *Checker) follow(ctx context.Context, name string) (time.Time, error) {
	in, revision, idle, err := c.records.gather(name)
	if err != nil || idle {
		return time.Time{}, err
	}
	in.Now, in.Answers = c.store.Now(), c.takeAnswers(name)
	var broken error
	in.Known = func(member string) (*api.PlacementResult, rollout.MemberView) {
		view, err := c.records.view(member)
		if err != nil {
			broken = err
		}
		return c.records.results.Of(member, name), view
	}
	plan := check.Follow(in)
	if broken != nil {
		return time.Time{}, broken
	}
	if plan.Changed {
		var op store.Op
		if plan.Record == nil {
			op = c.records.checks.Delete(name, revision)
		} else {
			op = c.records.checks.Put(name, plan.Record, revision)
		}
		if _, err := c.store.WriteTold(ctx, plan.Events, op); err != nil {
			return time.Time{}, err
		}
	}
	for i := range plan.Ask {
		c.ask(ctx, name, &plan.Ask[i])
	}
	return plan.Recheck, nil
}

// takeAnswers are those that came since they were taken last. Should they be lost on the way into the record, what was
// answered is due still, and is asked again.
func (c *Checker) takeAnswers(placement string) []check.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.answers[placement]
	delete(c.answers, placement)
	return taken
}

// ask asks a question in the background, unless the check is being asked already.
func (c *Checker) ask(ctx context.Context, placement string, q *check.Question) {
	if !c.begin(placement, q.Check.Name) {
		return
	}
	doc := asked{Fleet: c.store.Conn.Fleet.Name, Placement: placement}
	c.asking.Go(func() {
		v, answered := c.options.Endpoints.ask(ctx, doc, q)
		c.end(placement, check.Answer{Question: *q, Passed: v.passed, Unasked: v.unasked, Message: v.message, At: c.store.Now()}, answered)
	})
}

func (c *Checker) begin(placement, name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[placement][name] {
		return false
	}
	if c.pending[placement] == nil {
		c.pending[placement] = map[string]bool{}
	}
	c.pending[placement][name] = true
	return true
}

// end keeps an answer until the placement is looked at again.
func (c *Checker) end(placement string, a check.Answer, answered bool) {
	c.mu.Lock()
	delete(c.pending[placement], a.Check.Name)
	if len(c.pending[placement]) == 0 {
		delete(c.pending, placement)
	}
	if answered {
		c.answers[placement] = append(c.answers[placement], a)
	}
	c.mu.Unlock()
	c.queue.Add(placementKey + placement)
}
