package lab

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const pollEvery = 50 * time.Millisecond

// Until polls a condition until it is nil. It gives up, with what the condition said last, when ctx is done.
func Until(ctx context.Context, condition func(context.Context) error) error {
	return until(ctx, nil, condition)
}

// until polls a condition until it is nil. It gives up, with what the condition said last, when ctx is done or one of
// the processes that the condition needs has ended.
func until(ctx context.Context, needed []*process, condition func(context.Context) error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var last error
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // else it says only that there is no time left
			last = err
		}
		for _, p := range needed {
			if fault := p.fault(); fault != nil {
				return fault
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			faults := []error{fmt.Errorf("%w; last: %w", context.Cause(ctx), last)}
			for _, p := range needed {
				faults = append(faults, fmt.Errorf("the end of log %s:\n%s", p.log, tail(p.log, 0)))
			}
			return errors.Join(faults...)
		}
	}
}
